"""What the server must make of requests, byte by byte: RFC 9112, and where it leaves a choice, ours.

A case is (what it is, bytes, what must happen). What must happen: the statuses of the answers in order, then `kept`
if the connection serves the next request, `closed` if it does not, or `either`; `400|501` is one status of several; ` or `
separates whole alternatives. Not one answer more: every body here that looks like a request is a smuggler's.
`SECRET` stands for a valid key without its "sk-". A case in HALF_CLOSED closes its sending half behind its bytes.
"""

from raw_http import request

SECRET = "submix-SECRET"
AUTHORIZED = f"Authorization: Bearer sk-{SECRET}"
TYPED = "Content-Type: application/json"
BODY = b'{"model":"tales","prompt":"a","max_tokens":1}'
SMUGGLED = request("GET /readyz HTTP/1.1")
SMUGGLED_POST = request("POST /v1/completions HTTP/1.1", AUTHORIZED, TYPED, f"Content-Length: {len(BODY)}", body=BODY)
REFUSED = "400 closed"


def get(*lines, target="/readyz", version="HTTP/1.1", method="GET", body=b""):
    return request(f"{method} {target} {version}", *lines, body=body)


def post(*lines, body=BODY, version="HTTP/1.1"):
    """With a key; without a length."""
    return request(f"POST /v1/completions {version}", AUTHORIZED, TYPED, *lines, body=body)


def sized(*lines, body=BODY, version="HTTP/1.1"):
    return post(f"Content-Length: {len(body)}", *lines, body=body, version=version)


def chunked(coded, *lines):
    return post("Transfer-Encoding: chunked", *lines, body=coded)


def chunk(data, size=None, extension=b""):
    return (size or b"%x" % len(data)) + extension + b"\r\n" + data + b"\r\n"


LAST = b"0\r\n\r\n"
WHOLE = chunk(BODY) + LAST

REQUEST_LINES = [
    ("a GET", get(), "200 kept"),
    ("one CRLF before the request line", b"\r\n" + get(), "200 kept"),
    ("five CRLF before the request line", b"\r\n" * 5 + get(), "200 kept or 400 closed"),
    ("a bare LF before the request line", b"\n" + get(), "400 closed or 200 kept"),
    ("two spaces behind the method", get(target=" /readyz"), REFUSED),
    ("two spaces before the version", get(target="/readyz "), REFUSED),
    ("a space behind the version", get(version="HTTP/1.1 "), REFUSED),
    ("a space before the method", b" " + get(), REFUSED),
    ("tabs for spaces", get().replace(b"GET /readyz ", b"GET\t/readyz\t"), REFUSED),
    ("no target", get(target=""), REFUSED),
    ("a method alone", b"GET\r\nHost: localhost\r\n\r\n" + SMUGGLED, REFUSED),
    ("HTTP/0.9", b"GET /readyz\r\n\r\n", REFUSED),
    ("four words", get(target="/readyz /healthz"), REFUSED),
    ("a bare LF ends the request line", get().replace(b"1.1\r\n", b"1.1\n"), "400|408 closed"),
    ("bare LFs end all lines", get().replace(b"\r\n", b"\n"), "400|408 closed"),
    ("a bare CR ends the request line", get().replace(b"1.1\r\n", b"1.1\r"), REFUSED),
    ("a CR inside the target", get(target="/ready\rz"), REFUSED),
    ("NUL inside the target", get(target="/ready\0z"), REFUSED),
    ("NUL before the method", b"\0" + get(), REFUSED),
    ("a byte over 127 in the target", get(target="/ready\xffz"), "400 closed or 404 either"),
    ("absolute form", get(target="http://localhost/readyz"), "200 kept"),
    ("absolute form with a query", get(target="http://localhost/readyz?a=http://b"), "200 kept"),
    ("absolute form of another scheme", get(target="ftp://localhost/readyz"), "400|421 closed"),
    ("authority form", get(target="localhost:80"), REFUSED),
    ("a target without its slash", get(target="readyz"), REFUSED),
    ("an asterisk to GET", get(target="*"), REFUSED),
    ("an asterisk to OPTIONS", get(target="*", method="OPTIONS"), "200|204|404|405 either"),
    ("a query", get(target="/readyz?a=b&c=%20"), "200 kept"),
    ("dots are not resolved", get(target="/v1/../readyz"), "400 closed or 404 either"),
    ("two slashes are not one", get(target="//readyz"), "400 closed or 404 either"),
    ("a percent sign without its digits", get(target="/readyz%zz"), "400 closed or 404 either"),
    ("a path in percent signs is another path", get(target="/%72eadyz"), "404 kept"),
    ("a slash in percent signs", get(target="/v1%2fmodels"), "404 kept"),
    ("%00 in the target", get(target="/readyz%00"), "400 closed or 404 either"),
    ("%0d%0a in the target", get(target="/readyz%0d%0aX:%20y"), "400 closed or 404 either"),
    ("a target of 8,000 bytes", get(target="/" + "a" * 7999), "404 kept"),
    ("a query of 8,000 bytes", get(target="/readyz?" + "a" * 7992), "200 kept"),
    ("a target of 50,000 bytes", get(target="/" + "a" * 50_000), "414|431 closed"),
    ("a target of 200,000 bytes", get(target="/" + "a" * 200_000), "414|431 closed"),
    ("random words", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", REFUSED),
]

METHODS = [
    ("HEAD has no body", get(method="HEAD"), "200 kept"),
    ("HEAD of what is not there", get(method="HEAD", target="/nothing"), "404 kept"),
    ("HEAD of a completion", get(method="HEAD", target="/v1/completions"), "405 either"),
    ("GET of a completion", get(target="/v1/completions"), "405 either"),
    ("POST to a page without bodies", get("Content-Length: 0", method="POST"), "405 either"),
    ("an unknown method", get(method="FOO"), "405|501 either"),
    ("an unknown method with a request in its body", get(f"Content-Length: {len(SMUGGLED)}", method="FOO", body=SMUGGLED), "405|501 either"),
    ("a method in lower case", get(method="get"), "400 closed or 405|501 either"),
    ("a method in lower case with a request in its body", get(f"Content-Length: {len(SMUGGLED)}", method="get", body=SMUGGLED),
     "400 closed or 405|501 either"),
    ("a method with a colon", get(method="GE:T"), REFUSED),
    ("a method with a byte over 127", get(method="G\xcbT"), REFUSED),
    ("a method of 10,000 letters", get(method="A" * 10_000), "400|405|414|431|501 closed"),
    ("CONNECT", b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n" + SMUGGLED, "400|405|501 closed"),
    ("CONNECT of a path with a request in its body", get(f"Content-Length: {len(SMUGGLED)}", method="CONNECT", body=SMUGGLED), REFUSED),
    ("TRACE is not reflected", get("X-Mark: reflected", method="TRACE"), "405|501 either"),
    ("DELETE", get(method="DELETE"), "405|501 either"),
    ("PUT with a request in its body", get(f"Content-Length: {len(SMUGGLED)}", method="PUT", body=SMUGGLED), "405|501 either"),
    ("a GET with a request in its body", get(f"Content-Length: {len(SMUGGLED)}", body=SMUGGLED), "200 either"),
    ("a GET with a request in chunks", get("Transfer-Encoding: chunked", body=chunk(SMUGGLED) + LAST), "200 either"),
    ("a GET with a body of no bytes", get("Content-Length: 0"), "200 either"),
]

VERSIONS = [
    ("HTTP/1.0", get(version="HTTP/1.0"), "200 closed"),
    ("HTTP/1.0 without Host", b"GET /readyz HTTP/1.0\r\n\r\n", "200 closed"),
    ("HTTP/1.0 that asks to be kept", get("Connection: keep-alive", version="HTTP/1.0"), "200 either"),
    ("HTTP/1.0 posts", sized(version="HTTP/1.0"), "200 closed"),
    ("HTTP/1.0 with chunks", post("Transfer-Encoding: chunked", body=WHOLE, version="HTTP/1.0"), "400|501 closed"),
    ("HTTP/1.0 with Expect, which is not for it", sized("Expect: 100-continue", version="HTTP/1.0"), "200 closed"),
    ("HTTP/1.2", get(version="HTTP/1.2"), "505 closed"),
    ("HTTP/2.0", get(version="HTTP/2.0"), "505 closed"),
    ("HTTP/2.0 with a request in its body", get(f"Content-Length: {len(SMUGGLED)}", version="HTTP/2.0", body=SMUGGLED), "505 closed"),
    ("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400|505 closed"),
    ("HTTP/0.9 in words", get(version="HTTP/0.9"), "400|505 closed"),
    ("HTTP/9.9", get(version="HTTP/9.9"), "400|505 closed"),
    ("HTTP/1.10", get(version="HTTP/1.10"), "400|505 closed"),
    ("HTTP/11", get(version="HTTP/11"), "400|505 closed"),
    ("http/1.1", get(version="http/1.1"), "400|505 closed"),
    ("HTTP /1.1", get(version="HTTP /1.1"), REFUSED),
    ("HTTPS/1.1", get(version="HTTPS/1.1"), "400|505 closed"),
    ("an upgrade that is not there", get("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AA"), "200 kept"),
]

FIELDS = [
    ("no space behind the colon", get("X:y"), "200 kept"),
    ("spaces and tabs around a value", get("X: \t y \t "), "200 kept"),
    ("an empty value", get("X:"), "200 kept"),
    ("a tab inside a value", get("X: a\tb"), "200 kept"),
    ("bytes over 127 in a value", get("X: \xe9\xff"), "200 kept"),
    ("every letter of a token as a name", get("!#$%&'*+-.^_`|~09azAZ: y"), "200 kept"),
    ("a name twice", get("X: a", "X: b"), "200 kept"),
    ("a space before the colon", get("X : y"), REFUSED),
    ("a tab before the colon", get("X\t: y"), REFUSED),
    ("a space inside a name", get("X Y: z"), REFUSED),
    ("no name", get(": y"), REFUSED),
    ("no colon", get("X"), REFUSED),
    ("no colon, with a request in the body", get("X", f"Content-Length: {len(SMUGGLED)}", body=SMUGGLED), REFUSED),
    ("no colon, with a completion in the body", get("X", f"Content-Length: {len(SMUGGLED_POST)}", body=SMUGGLED_POST), REFUSED),
    ("a byte over 127 in a name", get("\xe9: y"), REFUSED),
    ("brackets in a name", get("(X): y"), REFUSED),
    ("NUL in a name", get("X\0: y"), REFUSED),
    ("NUL in a value", get("X: a\0b"), REFUSED),
    ("a bell in a value", get("X: a\ab"), REFUSED),
    ("DEL in a value", get("X: a\x7fb"), REFUSED),
    ("a bare CR in a value", get("X: a\rb"), REFUSED),
    ("a bare LF ends a field", get("X: a\nY: b"), REFUSED),
    ("a bare LF hides a length", post(f"X: a\nContent-Length: {len(BODY)}"), REFUSED),
    ("a folded value", get("X: a\r\n b"), REFUSED),
    ("a value folded by a tab", get("X: a\r\n\tb"), REFUSED),
    ("a folded line hides chunks", sized("X: a\r\n Transfer-Encoding: chunked"), REFUSED),
    ("white space before the first field", request("GET /readyz HTTP/1.1", "Host: localhost").replace(b"Host", b" Host"), REFUSED),
    ("a field is the end of the request", get().replace(b"\r\n\r\n", b"\r\n"), "400|408 closed"),
    ("a value of 9,000 bytes", get("X: " + "a" * 9000), "200 kept"),
    ("a value of 9,000 bytes, with a request in the body", get("X: " + "a" * 9000, f"Content-Length: {len(SMUGGLED)}", body=SMUGGLED), "200 either"),
    ("a name of 9,000 bytes", get("X" * 9000 + ": a"), "200 kept or 431 closed"),
    ("a head of 60,000 bytes", get(*(f"X: {'a' * 995}" for _ in range(60))), "200 kept"),
    ("a head of 70,000 bytes", get(*(f"X: {'a' * 995}" for _ in range(70))), "431 closed"),
    ("one value of 70,000 bytes", get("X: " + "a" * 70_000), "431 closed"),
    ("90 fields", get(*["X: y"] * 88), "200 kept"),
    ("1,000 fields", get(*["X: y"] * 1000), "431 closed"),
    ("100,000 fields", get(*["X: y"] * 100_000), "431 closed"),
]

HOSTS = [
    ("no Host", b"GET /readyz HTTP/1.1\r\n\r\n", REFUSED),
    ("no Host in absolute form", b"GET http://localhost/readyz HTTP/1.1\r\n\r\n", REFUSED),
    ("two Hosts", get("Host: localhost", "Host: other"), REFUSED),
    ("Host twice the same", get("Host: localhost", "Host: localhost"), REFUSED),
    ("an empty Host", get("Host:"), "200 kept or 400 closed"),
    ("Host with a port", get("Host: localhost:8080"), "200 kept"),
    ("Host in capitals", get("HOST: LOCALHOST"), "200 kept"),
    ("Host of IPv4", get("Host: 127.0.0.1:8080"), "200 kept"),
    ("Host of IPv6", get("Host: [::1]:8080"), "200 kept"),
    ("Host with a path", get("Host: localhost/readyz"), REFUSED),
    ("Host with a user", get("Host: user@localhost"), REFUSED),
    ("Host with a space", get("Host: local host"), REFUSED),
    ("Host is a list", get("Host: localhost, other"), REFUSED),
    ("Host with a port of letters", get("Host: localhost:http"), REFUSED),
    ("Host with half a bracket", get("Host: [::1"), REFUSED),
]

CONTENT_LENGTHS = [
    ("a body", sized(), "200 kept"),
    ("a length with spaces around", post(f"Content-Length:  \t{len(BODY)} "), "200 kept"),
    ("a length with zeros before", post(f"Content-Length: 000{len(BODY)}"), "200 kept"),
    ("no length and no chunks", post(body=b""), "411 either"),
    ("no length, and a request as the body", post(body=b"") + SMUGGLED, "411 closed or 411 200 kept"),
    ("an empty length", post("Content-Length:"), REFUSED),
    ("letters behind a length", post(f"Content-Length: {len(BODY)}abc"), REFUSED),
    ("a signed length", post(f"Content-Length: +{len(BODY)}"), REFUSED),
    ("a negative length", post("Content-Length: -1"), REFUSED),
    ("a hexadecimal length", post(f"Content-Length: {len(BODY):#x}"), REFUSED),
    ("an exponent", post("Content-Length: 5e1"), REFUSED),
    ("a fraction", post(f"Content-Length: {len(BODY)}.0"), REFUSED),
    ("two numbers", post(f"Content-Length: {len(BODY)} {len(BODY)}"), REFUSED),
    ("a list of equal lengths", post(f"Content-Length: {len(BODY)}, {len(BODY)}"), REFUSED),
    ("a list of lengths", post(f"Content-Length: {len(BODY)}, 0"), REFUSED),
    ("two equal lengths", sized(f"Content-Length: {len(BODY)}"), REFUSED),
    ("two lengths", sized("Content-Length: 0"), REFUSED),
    ("two lengths, the smaller first", post("Content-Length: 5", f"Content-Length: {len(BODY)}"), REFUSED),
    ("digits of another alphabet", post("Content-Length: \xb2\xb3"), REFUSED),
    ("a length over 64 bits", post("Content-Length: 99999999999999999999"), "400|413 closed"),
    ("a length of 63 bits", post("Content-Length: 9223372036854775807"), "413 closed"),
    ("a body too large", post("Content-Length: 2000000", body=b"x" * 100_000), "413 closed"),
    ("a wrong length of a GET", get("Content-Length: 5x"), REFUSED),
    ("two lengths of a GET", get("Content-Length: 0", "Content-Length: 5"), REFUSED),
    ("a length in a name with an underscore", sized("Content_Length: 5"), "200 kept"),
    ("a space before the colon of a length", post(f"Content-Length : {len(BODY)}"), REFUSED),
    ("Connection names the length", sized("Connection: Content-Length"), "200 kept"),
    ("a body in two requests", sized() + sized(), "200 200 kept"),
]

TRANSFER_ENCODINGS = [
    ("chunks", chunked(WHOLE), "200 kept"),
    ("Chunked in capitals", post("Transfer-Encoding: Chunked", body=WHOLE), "200 kept"),
    ("chunked with a tab before", post("Transfer-Encoding:\tchunked ", body=WHOLE), "200 kept"),
    ("TE beside it", chunked(WHOLE, "TE: trailers"), "200 kept"),
    ("chunks and a length", chunked(WHOLE, f"Content-Length: {len(WHOLE)}"), REFUSED),
    ("a length, then chunks", post("Content-Length: 5", "Transfer-Encoding: chunked", body=WHOLE), REFUSED),
    ("chunked twice in a line", post("Transfer-Encoding: chunked, chunked", body=WHOLE), "400|501 closed"),
    ("chunked in two lines", chunked(WHOLE, "Transfer-Encoding: chunked"), "400|501 closed"),
    ("chunked, then identity", chunked(WHOLE, "Transfer-Encoding: identity"), "400|501 closed"),
    ("identity, then chunked", post("Transfer-Encoding: identity", "Transfer-Encoding: chunked", body=WHOLE), "400|501 closed"),
    ("identity", post("Transfer-Encoding: identity", f"Content-Length: {len(BODY)}"), "400|501 closed"),
    ("gzip", post("Transfer-Encoding: gzip", body=WHOLE), "400|501 closed"),
    ("gzip, chunked", post("Transfer-Encoding: gzip, chunked", body=WHOLE), "400|501 closed"),
    ("chunked, gzip", post("Transfer-Encoding: chunked, gzip", body=WHOLE), "400|501 closed"),
    ("chunked with a parameter", post("Transfer-Encoding: chunked;q=1", body=WHOLE), "400|501 closed"),
    ("chunked in quotes", post('Transfer-Encoding: "chunked"', body=WHOLE), "400|501 closed"),
    ("xchunked", post("Transfer-Encoding: xchunked", body=WHOLE), "400|501 closed"),
    ("chunked behind a comma", post("Transfer-Encoding: , chunked", body=WHOLE), "400|501 closed"),
    ("chunked behind a vertical tab", post("Transfer-Encoding: \vchunked", body=WHOLE), REFUSED),
    ("an empty coding", post("Transfer-Encoding:", f"Content-Length: {len(BODY)}"), "400|501 closed"),
    ("a space before the colon of the coding", post("Transfer-Encoding : chunked", f"Content-Length: {len(BODY)}"), REFUSED),
    ("a coding in a name with an underscore", sized("Transfer_Encoding: chunked"), "200 kept"),
    ("gzip of a GET", get("Transfer-Encoding: gzip"), "400|501 closed"),
    ("chunks and a length of a GET", get("Transfer-Encoding: chunked", "Content-Length: 5", body=LAST), REFUSED),
]

CHUNKS = [
    ("many chunks", chunked(b"".join(chunk(bytes([byte])) for byte in BODY) + LAST), "200 kept"),
    ("a size in capitals with zeros before", chunked(chunk(BODY, b"00%X" % len(BODY)) + b"000\r\n\r\n"), "200 kept"),
    ("an extension", chunked(chunk(BODY, extension=b";a=b;c") + LAST), "200 kept"),
    ("an extension in quotes", chunked(chunk(BODY, extension=b';a="b;\\"c"') + LAST), "200 kept"),
    ("spaces before an extension", chunked(chunk(BODY, extension=b" ;a=b") + LAST), "200 kept"),
    ("an extension of the last chunk", chunked(chunk(BODY) + b"0;a=b\r\n\r\n"), "200 kept"),
    ("a trailer", chunked(chunk(BODY) + b"0\r\nX-Sum: 1\r\n\r\n"), "200 kept"),
    ("a length in a trailer", chunked(chunk(BODY) + b"0\r\nContent-Length: 5\r\n\r\n"), "200 kept or 400 closed"),
    ("a key in a trailer", post("Transfer-Encoding: chunked", body=chunk(BODY) + f"0\r\n{AUTHORIZED}\r\n\r\n".encode()).replace(
        f"{AUTHORIZED}\r\n".encode(), b"", 1), "401 closed"),
    ("an empty body", chunked(LAST), "400 kept"),
    ("an extension of 100,000 bytes", chunked(chunk(BODY, extension=b";a=" + b"b" * 100_000) + LAST), "400|413|431 closed"),
    ("trailers of 100,000 bytes", chunked(chunk(BODY) + b"0\r\n" + b"X: yyyyyyyyyy\r\n" * 7000 + b"\r\n"), "400|413|431 closed"),
    ("a bare LF in an extension", chunked(chunk(BODY, extension=b";a\nb") + LAST), REFUSED),
    ("a bare LF behind a size", chunked(b"%x\n" % len(BODY) + BODY + b"\r\n" + LAST), REFUSED),
    ("a bare LF behind a chunk", chunked(b"%x\r\n" % len(BODY) + BODY + b"\n" + LAST), REFUSED),
    ("nothing behind a chunk", chunked(b"%x\r\n" % len(BODY) + BODY + LAST), REFUSED),
    ("two bytes too many in a chunk", chunked(b"%x\r\n" % len(BODY) + BODY + b"xx\r\n" + LAST), REFUSED),
    ("a size of 0x", chunked(chunk(BODY, b"0x%x" % len(BODY)) + LAST), REFUSED),
    ("a signed size", chunked(chunk(BODY, b"+%x" % len(BODY)) + LAST), REFUSED),
    ("a negative size", chunked(chunk(BODY, b"-5") + LAST), REFUSED),
    ("a space before a size", chunked(chunk(BODY, b" %x" % len(BODY)) + LAST), REFUSED),
    ("no size", chunked(b"\r\n" + BODY + b"\r\n" + LAST), REFUSED),
    ("a size of letters", chunked(chunk(BODY, b"xyz") + LAST), REFUSED),
    ("an underscore in a size", chunked(chunk(BODY, b"0_%x" % len(BODY)) + LAST), REFUSED),
    ("a size over 64 bits that wraps to the right one", chunked(chunk(BODY, b"1%016x" % len(BODY)) + LAST), "400|413 closed"),
    ("a size of 63 bits", chunked(chunk(BODY, b"7fffffffffffffff") + LAST), "400|413 closed"),
    ("a size of 64 bits", chunked(chunk(BODY, b"ffffffffffffffff") + LAST), "400|413 closed"),
    ("chunks that are too large together", chunked(chunk(b" " * 70_000) * 20 + LAST), "413 closed"),
    ("a trailer without a colon", chunked(chunk(BODY) + b"0\r\nX\r\n\r\n"), REFUSED),
    ("a folded trailer", chunked(chunk(BODY) + b"0\r\nX: a\r\n b\r\n\r\n"), REFUSED),
    ("bare LFs behind the last chunk", chunked(chunk(BODY) + b"0\n\n"), REFUSED),
    ("two requests in chunks", chunked(WHOLE) + chunked(WHOLE), "200 200 kept"),
]

CONNECTIONS = [
    ("Connection: close", get("Connection: close"), "200 closed"),
    ("Connection: Close in a list", get("Connection: keep-alive, Close"), "200 closed"),
    ("close in a second line", get("Connection: keep-alive", "Connection: close"), "200 closed"),
    ("closed before the next", get("Connection: close") + SMUGGLED, "200 closed"),
    ("Connection: keep-alive", get("Connection: keep-alive"), "200 kept"),
    ("three requests", get() + get(target="/nothing") + get(method="HEAD").replace(b"HEAD", b"GET"), "200 404 200 kept"),
    ("bodies between requests", get() + sized() + chunked(WHOLE) + get(), "200 200 200 200 kept"),
    ("thirty requests", get() * 30, "200 " * 30 + "kept"),
    ("a refusal before the next", get("X") + SMUGGLED * 3, REFUSED),
    ("no key, and a request as the body", request("POST /v1/completions HTTP/1.1", TYPED, f"Content-Length: {len(SMUGGLED)}", body=SMUGGLED),
     "401 closed"),
    ("Expect with the body behind it", sized("Expect: 100-continue"), "200 kept"),
    ("Expect in capitals", sized("Expect: 100-CONTINUE"), "200 kept"),
    ("another Expect", sized("Expect: a-miracle"), "417 closed or 200 kept"),
    ("Expect of a GET", get("Expect: 100-continue"), "200 either"),
    ("a range", get("Range: bytes=0-3"), "200 kept"),
    ("ranges", get(f"Range: bytes={'0-,' * 300}0-"), "200 kept"),
    ("a range that is no range", get("Range: bytes=9-1"), "200 kept"),
    ("a range of a completion", sized("Range: bytes=0-5"), "200 kept"),
    ("If-Range", get("Range: bytes=0-1", 'If-Range: "a"'), "200 kept"),
]

CONTENTS = [
    ("no Content-Type", sized().replace(f"{TYPED}\r\n".encode(), b""), "200 kept"),
    ("a type with parameters, in capitals", sized().replace(TYPED.encode(), b"Content-Type: APPLICATION/JSON; Charset=UTF-8"), "200 kept"),
    *((f"Content-Type: {kind}", sized().replace(TYPED.encode(), b"Content-Type: " + kind.encode()), "415 either")
      for kind in ("multipart/form-data; boundary=x", "Multipart/Form-Data; boundary=x", "application/x-www-form-urlencoded",
                   "Application/X-WWW-Form-Urlencoded", "text/plain", "application/jsonp", "text/plain; application/json",
                   "application/json, text/plain")),
    ("Content-Encoding: identity", sized("Content-Encoding: identity"), "200 kept or 415 either"),
    ("Content-Encoding: gzip", sized("Content-Encoding: gzip"), "415 either"),
    ("gzip in a second line", sized("Content-Encoding: identity", "Content-Encoding: gzip"), "415 either"),
    ("gzip in a list", sized("Content-Encoding: identity, gzip"), "415 either"),
    ("br in capitals", sized("Content-Encoding: BR"), "415 either"),
    ("a wrong key", sized().replace(SECRET.encode(), b"submix-wrong"), "401 closed"),
    ("a key with a percent sign", sized().replace(b"sk-", b"sk%2d"), "401 closed"),
    ("the scheme with a percent sign", sized().replace(b"Bearer ", b"Bearer%20"), "401 closed"),
    ("the scheme in small letters", sized().replace(b"Bearer ", b"bearer "), "200 kept"),
    ("the scheme in capitals, more than one space", sized().replace(b": Bearer ", b":  BEARER   "), "200 kept"),
    ("blanks around the field's value", sized().replace(f"{AUTHORIZED}".encode(), f"Authorization:\t bEARER  sk-{SECRET} \t".encode()), "200 kept"),
    ("a tab after the scheme", sized().replace(b"Bearer ", b"Bearer\t"), "401 closed"),
    ("the scheme alone", sized().replace(f"{AUTHORIZED}".encode(), b"Authorization: Bearer"), "401 closed"),
    ("the scheme and blanks", sized().replace(f"{AUTHORIZED}".encode(), b"Authorization: Bearer  "), "401 closed"),
    ("no scheme", sized().replace(b"Bearer ", b""), "401 closed"),
    ("no space after the scheme", sized().replace(b"Bearer ", b"Bearer"), "401 closed"),
    ("another scheme", sized().replace(b"Bearer ", b"Basic "), "401 closed"),
    ("a key folded into the next line", sized().replace(b"Bearer ", b"Bearer\r\n "), REFUSED),
    ("a wrong key before the right one", sized().replace(b"Authorization", b"Authorization: Bearer x\r\nAuthorization"), "400|401 closed"),
    ("a key under a name with an underscore", sized().replace(b"Authorization", b"Authorization_"), "401 closed"),
]

CUT_OFF = [
    ("nothing, then the end", b"", "closed"),
    ("half a request line, then the end", b"GET /rea", "closed or 400 closed"),
    ("half a head, then the end", get()[:-2], "closed or 400 closed"),
    ("a request, then the end", get(), "200 closed or closed"),
    ("a completion, then the end", sized(), "200 closed or closed"),
    ("half a body, then the end", sized()[:-5], "closed or 400 closed"),
    ("half a chunk, then the end", chunked(WHOLE[:20]), "closed or 400 closed"),
    ("chunks without the last one, then the end", chunked(WHOLE[:-5]), "closed or 400 closed"),
    ("half the last chunk, then the end", chunked(WHOLE[:-2]), "closed or 400 closed"),
]

CASES = [*REQUEST_LINES, *METHODS, *VERSIONS, *FIELDS, *HOSTS, *CONTENT_LENGTHS, *TRANSFER_ENCODINGS, *CHUNKS, *CONNECTIONS, *CONTENTS]
HALF_CLOSED = CUT_OFF
