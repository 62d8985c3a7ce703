# SPDX-License-Identifier: MIT
# The fault server does over HTTP what it is told, and the relay is as long as it says. Requests are signed by a third
# implementation of Signature Version 4, that of the Python script below.
# level: quick
. "$TESTS/lib.sh"

store fault
mkfifo "$WORK/relay.port"
"$BUILD/tests/relay/relay" --rtt 60 127.0.0.1 "$_fault_port" >"$WORK/relay.port" &
relay=$!
_at_exit+=('kill $relay')
read -r relay_port <"$WORK/relay.port"

cat >"$WORK/client.py" <<'PYTHON'
import hashlib, hmac, http.client, json, socket, subprocess, sys, threading, time

program, port, relay_port = sys.argv[1:]
port = int(port)


def ask(*words):
    return subprocess.run([program, "ask", str(port), *words], check=True, capture_output=True).stdout


def signed(method, path, body=b"", via=port, extra={}):
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    digest = hashlib.sha256(body).hexdigest()
    host = "127.0.0.1:%d" % via
    names = "host;x-amz-content-sha256;x-amz-date"
    canonical = "%s\n%s\n\nhost:%s\nx-amz-content-sha256:%s\nx-amz-date:%s\n\n%s\n%s" % (
        method, path, host, digest, now, names, digest)
    scope = now[:8] + "/auto/s3/aws4_request"
    text = "AWS4-HMAC-SHA256\n%s\n%s\n%s" % (now, scope, hashlib.sha256(canonical.encode()).hexdigest())
    key = b"AWS4fault-secret"
    for part in (now[:8], "auto", "s3", "aws4_request", text):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    headers = {"x-amz-date": now, "x-amz-content-sha256": digest, "Host": host,
               "Authorization": "AWS4-HMAC-SHA256 Credential=fault/%s,SignedHeaders=%s,Signature=%s"
                                % (scope, names, key.hex()), **extra}
    connection = http.client.HTTPConnection("127.0.0.1", via, timeout=10)
    connection.request(method, path, body if method == "PUT" else None, headers)
    return connection.getresponse()


def ends_early(f):
    try:
        f()
    except (http.client.HTTPException, ConnectionError):
        return True
    return False


def timed(f):
    begin = time.monotonic()
    f()
    return time.monotonic() - begin


body = bytes(range(256)) * 400
get = lambda: signed("GET", "/boxes/a").read()
assert signed("PUT", "/boxes/a", body).status == 200
assert get() == body
assert signed("GET", "/boxes/a", extra={"Range": "bytes=10-19"}).read() == body[10:20]
head = signed("HEAD", "/boxes/a")
assert head.status == 200 and head.getheader("Content-Length") == str(len(body)) and head.read() == b""

ask("drop-response", "--op", "PUT", "--times", "1")
assert ends_early(lambda: signed("PUT", "/boxes/b", b"kept"))
assert signed("GET", "/boxes/b").read() == b"kept"
ask("truncate", "1000", "--op", "GET", "--times", "1")
assert ends_early(get)
ask("flip", "7", "--op", "GET", "--times", "1")
flipped = get()
assert [i for i in range(len(body)) if flipped[i] != body[i]] == [7]
ask("stall", "300", "--op", "GET", "--times", "1")
assert timed(get) >= 0.3
ask("status", "503", "--times", "1")
assert signed("GET", "/boxes/a").status == 503
assert get() == body

ask("clock", "7200")
late = signed("GET", "/boxes/a")
assert late.status == 403 and b"RequestTimeTooSkewed" in late.read()
ask("clock", "0")

waiting = socket.create_connection(("127.0.0.1", port))
waiting.sendall(b"PUT /boxes/c HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
waiting.settimeout(0.3)
try:
    raise SystemExit("Expect was answered: %r" % waiting.recv(100))
except TimeoutError:
    pass

# Three at once, then one: two round trips.
ask("rtt", "100")
ask("reset")
threads = [threading.Thread(target=get) for _ in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert timed(get) >= 0.1
counters = json.loads(ask("counters"))
assert (counters["requests"], counters["round_trips"]) == (4, 2), counters
assert counters["by"] == {"GET other": 4} and counters["bytes_out"] == 4 * len(body)
ask("rtt", "0")
ask("bandwidth", "2M")  # 100 kB take 0.39 s
assert timed(get) >= 0.35
ask("bandwidth", "0")

assert timed(lambda: signed("GET", "/boxes/a", via=int(relay_port)).read()) >= 0.12  # handshake and request
ask("rot", "a", "5")
assert get()[5] == body[5] ^ 1
PYTHON
python3 "$WORK/client.py" "$BUILD/tests/fault/fault-s3" "$_fault_port" "$relay_port"

fault reset
expect_commits '*' 0
expect_exit 1 fault nonsense
expect_error 'no such command'
