module pack

go 1.21
