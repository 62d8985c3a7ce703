/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/seeds.h"

#include "index/base/mem.h"
#include "index/base/wire.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static struct bytes text(const char *s)
{
    return (struct bytes){ (const uint8_t *)s, strlen(s) };
}

struct text_seed {
    const char *name, *text;
};

static void write_texts(void (*write)(const char *fuzzer, const char *name, struct bytes seed), const char *fuzzer,
                        const struct text_seed *seeds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        write(fuzzer, seeds[i].name, text(seeds[i].text));
}

#define LIST(inside) "<ListBucketResult>" inside "</ListBucketResult>"
#define LAST "<IsTruncated>false</IsTruncated>"
#define ENTRY(key, size, time)                                                                                         \
    "<Contents><Key>" key "</Key><Size>" size "</Size><LastModified>" time "</LastModified></Contents>"

static void listings(void (*write)(const char *fuzzer, const char *name, struct bytes seed))
{
    static const struct text_seed seeds[] = {
        { "more", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult "
                  "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
                  "<Name>b</Name><Prefix>box/</Prefix><KeyCount>1</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>true</"
                  "IsTruncated>"
                  "<NextContinuationToken>1/+=x</NextContinuationToken><Contents><Key>box/a&amp;b</Key>"
                  "<LastModified>2009-10-12T17:50:30.250Z</LastModified><ETag>&quot;e&quot;</ETag><Size>17</Size>"
                  "<Owner><ID>x</ID></Owner></Contents></ListBucketResult>" },
        { "last", LIST(LAST) },
        { "names", LIST(LAST "<Delimiter>/</Delimiter><CommonPrefixes><Prefix>box/a/</Prefix></CommonPrefixes>"
                             "<CommonPrefixes><Prefix>box/b/</Prefix></CommonPrefixes>") },
        { "error", "<Error><Code>NoSuchBucket</Code><Message>no</Message></Error>" },
        { "deep", LIST("<a><b><c><d><e><f><g><h><i><j/></i></h></g></f></e></d></c></b></a>" LAST) },
        { "twice", LIST("<Contents><Key>a</Key><Key>b</Key></Contents>" LAST) },
        { "no-number", LIST(LAST ENTRY("a", "1x", "2009-10-12T17:50:30.250Z")) },
        { "no-time", LIST(LAST ENTRY("a", "1", "yesterday")) },
        { "lacks", LIST(LAST "<Contents><Key>a</Key></Contents>") },
        { "doctype", "<!DOCTYPE a [<!ENTITY b \"c\">]>" LIST(LAST ENTRY("&b;", "1", "2009-10-12T17:50:30.250Z")) },
    };
    write_texts(write, "listing", seeds, sizeof(seeds) / sizeof(seeds[0]));
    _cleanup_(buf_release) struct buf b = { 0 };
    buf_printf(&b, "<ListBucketResult>" LAST "<Contents><Key>");
    buf_fill(&b, 'k', 8192);
    write("listing", "long", buf_bytes(&b));
}

#define META(inside) "{\"v\":1,\"incarnation\":\"000102030405060708090a0b0c0d0e0f\"," inside "}"
#define META_PATH "\"path\":\"/root/demo\","

static void metas(void (*write)(const char *fuzzer, const char *name, struct bytes seed))
{
    static const struct text_seed seeds[] = {
        { "full",
          "{\"v\":1,\"path\":\"/root/\\\\xff\",\"path_b64\":\"L3Jvb3Qv/"
          "w==\",\"pin\":\"node-1\",\"memory_max\":4294967296,"
          "\"nix\":true,\"exclude\":[\"*.o\",\"!keep.o\"],\"tools\":{\"git\":\"2.39.5\"},\"later\":[1,{\"x\":null}],"
          "\"incarnation\":\"000102030405060708090a0b0c0d0e0f\"}" },
        { "tools", META(META_PATH "\"tools\":{\"git\":\"1\",\"node\":\"2\",\"bash\":\"5.2\",\"gcc\":\"12\"}") },
        { "tools-no-text", META(META_PATH "\"tools\":{\"git\":1}") },
        { "tools-no-list", META(META_PATH "\"tools\":[]") },
        { "rules-no-list", META(META_PATH "\"exclude\":{}") },
        { "rules-no-text", META(META_PATH "\"exclude\":[\"a\",1]") },
        { "pin", META(META_PATH "\"pin\":\"a/b\"") },
        { "nix", META(META_PATH "\"nix\":1") },
        { "memory", META(META_PATH "\"memory_max\":-1") },
        { "incarnation", "{\"v\":1," META_PATH "\"incarnation\":\"00\"}" },
        { "newer", "{\"v\":2}" },
        { "base64-length", META("\"path_b64\":\"L3J\"") },
        { "base64-zero", META("\"path_b64\":\"LwAA\"") },
        { "set-size", "memory_max=4G" },
        { "set-rule", "exclude+=/build/" },
        { "unset-rule", "exclude-=/build/" },
        { "set-path", "path=/root/a/b" },
        { "set-pin", "pin=node-1" },
        { "set-nix", "nix=true" },
    };
    write_texts(write, "meta", seeds, sizeof(seeds) / sizeof(seeds[0]));
}

static void heads_of_answers(void (*write)(const char *fuzzer, const char *name, struct bytes seed))
{
    static const struct text_seed seeds[] = {
        { "r2", "HTTP/1.1 100 Continue\r\nETag: \"none\"\r\n\r\nHTTP/1.1 206 Partial Content\r\nDate: Tue, 16 Jun 2026 "
                "08:00:00 "
                "GMT\r\nContent-Length: 17\r\nContent-Range: bytes 0-16/1234\r\nETag: \"0123456789abcdef\"\r\n"
                "Last-Modified: Mon, 15 Jun 2026 08:00:00 GMT\r\nServer: cloudflare\r\n\r\n" },
        { "slow", "HTTP/1.1 503 Slow Down\r\nretry-after: 30\r\ncontent-length: 99999999999999999999\r\n\r\n" },
        { "bad", "ETag:\t\"a\tb\" \r\nContent-Range: bytes */17\r\nDate: yesterday\r\nRetry-After: soon\r\n" },
    };
    write_texts(write, "headers", seeds, sizeof(seeds) / sizeof(seeds[0]));
}

static void rules(void (*write)(const char *fuzzer, const char *name, struct bytes seed))
{
    static const struct text_seed seeds[] = {
        { "plain", "*.o\n!keep.o\n/build/\n# no rule\nsrc/keep.o" },
        { "stars", "**/a/**/b\nx/**\n**\nc**d\nx/a/y/b" },
        { "sets", "[a-c]?[!x-z][[:digit:]][]-]\\*\r\n[^[:alpha:][:space:]\\]]\nab03-*" },
        { "open", "[a-\n[[:none:]]\n[[:digit:\n\\\n[a\nname\\ \nname  \nname " },
        { "secret", "!.auth-secret\n.auth-secret" },
        { "below", "node_modules/\na/node_modules/b" },
    };
    write_texts(write, "exclude", seeds, sizeof(seeds) / sizeof(seeds[0]));
}

static void names(void (*write)(const char *fuzzer, const char *name, struct bytes seed))
{
    static const struct text_seed seeds[] = {
        { "writer", "0011223344556677-8899aabbccddeeff" },
        { "pack", "0011223344556677-8899aabbccddeeff/00112233445566778899aabbccddeeff" },
        { "snapshot", "00112233445566778899aabbccddeeff" },
        { "fork", "a-b.c-17-0123456789abcdef" },
    };
    write_texts(write, "names", seeds, sizeof(seeds) / sizeof(seeds[0]));
}

static void mounts(void (*write)(const char *fuzzer, const char *name, struct bytes seed))
{
    static const struct text_seed seeds[] = {
        { "bind", "36 35 98:0 /a\\040b /mnt\\0112 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue\n" },
        { "two", "22 1 0:20 / /proc rw - proc proc rw\n40 22 0:50 / /root/demo rw,nosuid - overlay ag-box:demo "
                 "rw,lowerdir=/l,upperdir=/u\n" },
        { "short", "22 1 0:20 / /proc rw -\n22 1 0:20 / /proc rw - proc\n22 1 0 / /p rw - proc none rw\n1 - a b c\n" },
        { "no-options", "22 1 0:20 / /proc rw - proc proc\n" },
    };
    write_texts(write, "mountinfo", seeds, sizeof(seeds) / sizeof(seeds[0]));
}

static void environments(void (*write)(const char *fuzzer, const char *name, struct bytes seed))
{
    static const struct text_seed seeds[] = {
        { "s3",
          "# comment\nexport BOX_NODE=laptop\nBOX_BUCKET=my-boxes\nBOX_PASSWORD=\"a long password\"\n"
          "BOX_S3_ENDPOINT=https://s3.example\nBOX_S3_REGION=auto\nAWS_ACCESS_KEY_ID=a\nAWS_SECRET_ACCESS_KEY=b\n" },
        { "all", "BOX_NODE = a\nBOX_STORE=file:///s\nRESTIC_PASSWORD='p'\nBOX_GLOBALS_ROLE=push\nBOX_MEMORY_MAX=1500M\n"
                 "BOX_CACHE_MAX=2G\nBOX_HYDRATE=off\nBOX_FETCH_TIMEOUT=none\nBOX_LEASE_TTL=90m\n" },
        { "no-password", "BOX_NODE=a\nBOX_STORE=file:///s\nBOX_FETCH_TIMEOUT=90s" },
        { "no-name", "BOX_NODE=a/b\n" },
        { "no-size", "BOX_CACHE_MAX=1X\n" },
        { "no-time", "BOX_LEASE_TTL=soon\n" },
        { "no-switch", "BOX_HYDRATE=maybe\n" },
        { "no-role", "BOX_GLOBALS_ROLE=both\n" },
        { "short-lease", "BOX_LEASE_TTL=5s\n" },
        { "long-lease", "BOX_LEASE_TTL=9000d\n" },
        { "unknown", "BOX_OTHER=1\n" },
        { "no-line", "BOX_NODE\n" },
    };
    write_texts(write, "config", seeds, sizeof(seeds) / sizeof(seeds[0]));
    write("config", "zero", (struct bytes){ (const uint8_t *)"BOX_NODE=a\0b\n", 13 });
}

static void nodes(void (*write)(const char *fuzzer, const char *name, struct bytes seed))
{
    static const struct text_seed seeds[] = {
        { "three", "# mine\na local\nb\tbeta # by name\n\nc root@10.0.0.3\r\n" },
        { "no-name", "../a beta\n" },
        { "no-alias", "b\n" },
        { "option", "b -oProxyCommand=x\n" },
        { "bytes", "b b\xff\n" },
        { "twice", "b x\nb y\n" },
        { "other-local", "b local\n" },
        { "self-remote", "a beta\n" },
        { "words", "b x y\n" },
        { "memory", "MemTotal:       32759 kB\nMemAvailable:   12345 kB\nBuffers: 1 kB\n" },
        { "no-unit", "MemAvailable: 12345\n" },
        { "too-much", "MemAvailable: 99999999999999999999 kB\n" },
    };
    write_texts(write, "nodes", seeds, sizeof(seeds) / sizeof(seeds[0]));
}

static void small(void (*write)(const char *fuzzer, const char *name, struct bytes seed))
{
    static const struct text_seed seeds[] = {
        { "hex", "00ff7f" },
        { "number", "18446744073709551615" },
        { "size", "1500M" },
        { "time", "90m" },
        { "name", "node-1.a_b" },
        { "utf8", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \n\t\"\\" },
        { "bytes", "\xff\xc0\x80\xed\xa0\x80\x1b\x7f" },
        { "long", "a123456789b123456789c123456789d123456789e123456789f123456789g1234" },
    };
    write_texts(write, "text", seeds, sizeof(seeds) / sizeof(seeds[0]));

    _cleanup_(buf_release) struct buf b = { 0 };
    for (uint8_t what = 0; what < 0x30; what++)
        wire_put_u8(&b, what);
    wire_put_u8(&b, 255);
    for (unsigned i = 0; i < 6; i++) { /* six times all kinds of reads */
        wire_put_u8(&b, 7);
        wire_put_u32(&b, 1u << 31);
        wire_put_u64(&b, 1);
        wire_put_varint(&b, i & 1 ? UINT64_MAX : 999);
        wire_put_signed(&b, INT64_MIN);
        wire_put_string(&b, "a string", 8);
        buf_fill(&b, 'r', i >> 1);
        wire_put_u32(&b, 17);
    }
    write("wire", "all", buf_bytes(&b));
}

void seeds_text(void (*write)(const char *fuzzer, const char *name, struct bytes seed))
{
    listings(write);
    metas(write);
    heads_of_answers(write);
    rules(write);
    names(write);
    mounts(write);
    environments(write);
    nodes(write);
    small(write);
}
