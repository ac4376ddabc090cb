module speed

go 1.21
