# The text of a program. It requests a worker with this program's files from the fork server at
# SOCKET, and ends with it.
import json
import os
import socket
import sys

with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(SOCKET)  # noqa: F821  # set in the line that is put above this text
    files = [int(number) for number in sys.argv[5:9]]
    message = json.dumps([os.environ["PYTHONPATH"], sys.argv[1:]]).encode()
    socket.send_fds(connection, [message], [*files, 1])
    code = connection.recv(1)
sys.exit(code[0] if code else 1)
