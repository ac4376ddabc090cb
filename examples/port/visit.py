"""Visits localhost:8000 often, and finds all visits counted and saved."""
import http.client
import os
import sys

import store

VISITS = 300


def ask(method, path):
    server = http.client.HTTPConnection("localhost", 8000, timeout=30)
    server.request(method, path)
    return server.getresponse().read().decode()


def visits():
    name, count = ask("GET", "/").split()
    if name != os.environ["APPROACH"]:
        sys.exit("this is the server of %s" % name)
    return int(count)


before = visits()
for i in range(VISITS):
    ask("POST", "/some/page/of/this/site")
if visits() != before + VISITS:
    sys.exit("of %d visits, %d were counted" % (VISITS, visits() - before))
if store.Store.saved("visits.db") != visits():
    sys.exit("%d visits were counted, and %d saved" % (visits(), store.Store.saved("visits.db")))
print("%d visits, counted and saved" % visits())
