"""What Haybarn reads from an Airport server: python haybarn_client.py URI < queries

The queries are a JSON array of SQL texts over the tables of the catalog `shop`. Prints the rows of
each as JSON. If the extension airport cannot be loaded, ends with the code 3 and the reason.
"""

import json
import sys

import haybarn


def main():
    connection = haybarn.connect()
    try:
        connection.execute("INSTALL airport FROM community")
        connection.execute("LOAD airport")
    except haybarn.Error as error:
        print(str(error).partition("\n")[0])
        sys.exit(3)
    connection.execute(f"ATTACH 'shop' (TYPE airport, LOCATION '{sys.argv[1]}')")
    queries = json.load(sys.stdin)
    json.dump([connection.execute(each).fetchall() for each in queries], sys.stdout)


if __name__ == "__main__":
    main()
