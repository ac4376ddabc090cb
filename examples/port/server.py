"""A dev server on port 8000 that counts visits in an SQLite file."""
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

import store

visits = store.Store("visits.db")


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        visits.visit(self.path)
        self.answer("counted")

    def do_GET(self):
        self.answer("%s %d" % (os.environ.get("APPROACH", "nobody"), visits.count()))

    def answer(self, text):
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


HTTPServer(("127.0.0.1", 8000), Handler).serve_forever()
