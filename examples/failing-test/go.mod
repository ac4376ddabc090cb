module bill

go 1.21
