"""The shop: GET / says which columns customers have, and shows the first of them."""
import http.server
import subprocess

QUERY = "select column_name from information_schema.columns where table_name = 'customers' order by ordinal_position"


def ask(query):
    psql = ["psql", "-X", "-A", "-t", "-h", "127.0.0.1", "-p", "5499", "-U", "shop", "-d", "shop", "-c", query]
    return subprocess.run(psql, check=True, capture_output=True, text=True).stdout


class Shop(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            status, text = 200, " ".join(ask(QUERY).split()) + "\n" + ask("select * from customers order by id limit 1")
        except subprocess.CalledProcessError as failed:
            status, text = 500, failed.stderr
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", 8099), Shop).serve_forever()
