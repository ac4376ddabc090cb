"""Visits are saved in batches of seven, which is quick. What is left over is not."""
import sqlite3


class Store:
    def __init__(self, path):
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute("CREATE TABLE IF NOT EXISTS visits (page TEXT)")
        self.new = []

    def visit(self, page):
        self.new.append((page,))
        if len(self.new) == 7:
            self.db.executemany("INSERT INTO visits VALUES (?)", self.new)
            self.new = []

    def count(self):
        return self.db.execute("SELECT count(*) FROM visits").fetchone()[0] + len(self.new)

    @staticmethod
    def saved(path):
        return sqlite3.connect(path).execute("SELECT count(*) FROM visits").fetchone()[0]
