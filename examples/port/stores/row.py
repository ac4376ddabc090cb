"""Every visit is a row."""
import sqlite3


class Store:
    def __init__(self, path):
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute("CREATE TABLE IF NOT EXISTS visits (page TEXT, at TEXT)")

    def visit(self, page):
        self.db.execute("INSERT INTO visits VALUES (?, datetime('now'))", (page,))

    def count(self):
        return self.db.execute("SELECT count(*) FROM visits").fetchone()[0]

    @staticmethod
    def saved(path):
        return sqlite3.connect(path).execute("SELECT count(*) FROM visits").fetchone()[0]
