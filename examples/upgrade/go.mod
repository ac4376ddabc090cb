module hello

go 1.21

require greet.example/greet v1.0.0
