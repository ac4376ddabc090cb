#!/bin/sh
# Starts the server in the background and waits until it answers.
python3 server.py >/tmp/port-example.log 2>&1 &
for _ in $(seq 100); do
  python3 -c 'import socket; socket.create_connection(("localhost", 8000), 1)' 2>/dev/null && exit 0
  sleep 0.1
done
cat /tmp/port-example.log
exit 1
