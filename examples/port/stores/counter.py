"""Every page has a counter."""
import sqlite3


class Store:
    def __init__(self, path):
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute("CREATE TABLE IF NOT EXISTS visits (page TEXT PRIMARY KEY, n INTEGER)")

    def visit(self, page):
        self.db.execute("INSERT INTO visits VALUES (?, 1) ON CONFLICT (page) DO UPDATE SET n = n + 1", (page,))

    def count(self):
        return self.db.execute("SELECT coalesce(sum(n), 0) FROM visits").fetchone()[0]

    @staticmethod
    def saved(path):
        return sqlite3.connect(path).execute("SELECT coalesce(sum(n), 0) FROM visits").fetchone()[0]
