module greet.example/greet

go 1.21
