/* SPDX-License-Identifier: MIT */
#include "sync/listing.h"

#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>
#include <expat.h>
#include <string.h>

#define DEPTH_MAX 8

enum field { FIELD_NONE, FIELD_TRUNCATED, FIELD_TOKEN, FIELD_KEY, FIELD_SIZE, FIELD_MODIFIED, FIELD_PREFIX };

struct parser {
    XML_Parser xml;
    struct listing listing;
    int depth;
    bool in_entry;  /* below /ListBucketResult/Contents */
    bool in_common; /* below /ListBucketResult/CommonPrefixes */
    unsigned seen;  /* fields of this entry, as bits */
    struct listing_entry entry;
    enum field field;
    char text[LISTING_TEXT_MAX];
    size_t text_len;
    bool truncated_known, truncated;
    const char *wrong; /* the first thing that is */
};

void listing_release(struct listing *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->entries[i].key);
    for (size_t i = 0; i < l->prefix_count; i++)
        free(l->prefixes[i]);
    free(l->entries);
    free(l->prefixes);
    free(l->token);
    *l = (struct listing){ 0 };
}

static void fail(struct parser *p, const char *wrong)
{
    if (!p->wrong)
        p->wrong = wrong;
    XML_StopParser(p->xml, XML_FALSE);
}

static enum field field_of(const struct parser *p, const char *name)
{
    static const struct {
        const char *name;
        bool of_entry;
        enum field field;
    } fields[] = {
        { "IsTruncated", false, FIELD_TRUNCATED },
        { "NextContinuationToken", false, FIELD_TOKEN },
        { "Key", true, FIELD_KEY },
        { "Size", true, FIELD_SIZE },
        { "LastModified", true, FIELD_MODIFIED },
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (p->depth == (fields[i].of_entry ? 3 : 2) && p->in_entry == fields[i].of_entry &&
            strcmp(name, fields[i].name) == 0)
            return fields[i].field;
    return p->in_common && p->depth == 3 && strcmp(name, "Prefix") == 0 ? FIELD_PREFIX : FIELD_NONE;
}

static void take_prefix(struct parser *p)
{
    struct listing *l = &p->listing;
    if (l->prefix_count == LISTING_COUNT_MAX)
        return fail(p, "too many entries");
    if (l->prefix_count == l->prefix_room)
        l->prefixes = mem_grow(l->prefixes, l->prefix_room = l->prefix_room * 2 + 64, sizeof(*l->prefixes));
    l->prefixes[l->prefix_count++] = mem_strdup(p->text);
}

static void XMLCALL element_starts(void *arg, const XML_Char *name, const XML_Char **attributes)
{
    struct parser *p = arg;
    if (p->field != FIELD_NONE)
        return fail(p, "an element inside a value");
    if (++p->depth > DEPTH_MAX)
        return fail(p, "too deep");
    if (p->depth == 1 && strcmp(name, "ListBucketResult") != 0)
        return fail(p, "it is no list");
    if (p->depth == 2 && strcmp(name, "Contents") == 0) {
        p->in_entry = true;
        p->seen = 0;
        p->entry = (struct listing_entry){ 0 };
    }
    if (p->depth == 2)
        p->in_common = strcmp(name, "CommonPrefixes") == 0;
    p->field = field_of(p, name);
    p->text_len = 0;
}

static void XMLCALL text_comes(void *arg, const XML_Char *text, int len)
{
    struct parser *p = arg;
    if (p->field == FIELD_NONE)
        return;
    if ((size_t)len >= sizeof(p->text) - p->text_len)
        return fail(p, "a value is too long");
    memcpy(p->text + p->text_len, text, (size_t)len);
    p->text_len += (size_t)len;
}

static void take_value(struct parser *p)
{
    p->text[p->text_len] = '\0';
    if (p->in_entry && p->seen & 1u << p->field)
        return fail(p, "a value comes twice");
    p->seen |= 1u << p->field;
    switch (p->field) {
    case FIELD_TRUNCATED:
        p->truncated = strcmp(p->text, "true") == 0;
        if (p->truncated_known || (!p->truncated && strcmp(p->text, "false") != 0))
            return fail(p, "IsTruncated is neither true nor false, or comes twice");
        p->truncated_known = true;
        break;
    case FIELD_TOKEN:
        free(p->listing.token);
        p->listing.token = mem_strdup(p->text);
        break;
    case FIELD_KEY:
        p->entry.key = mem_strdup(p->text);
        break;
    case FIELD_SIZE:
        if (text_parse_u64(p->text, INT64_MAX, &p->entry.size) < 0)
            return fail(p, "a size is no number");
        break;
    case FIELD_MODIFIED:
        p->entry.modified_ns = text_parse_time(p->text);
        if (p->entry.modified_ns < 0)
            return fail(p, "a time is none");
        break;
    case FIELD_PREFIX:
        take_prefix(p);
        break;
    case FIELD_NONE:
        break;
    }
}

static void take_entry(struct parser *p)
{
    struct listing *l = &p->listing;
    unsigned all = 1u << FIELD_KEY | 1u << FIELD_SIZE | 1u << FIELD_MODIFIED;
    p->in_entry = false;
    if ((p->seen & all) != all || !*p->entry.key)
        return fail(p, "an entry lacks key, size or time");
    if (l->count == LISTING_COUNT_MAX)
        return fail(p, "too many entries");
    if (l->count == l->room)
        l->entries = mem_grow(l->entries, l->room = l->room * 2 + 64, sizeof(*l->entries));
    l->entries[l->count++] = p->entry;
    p->entry.key = NULL;
}

static void XMLCALL element_ends(void *arg, const XML_Char *name)
{
    struct parser *p = arg;
    if (p->wrong)
        return;
    if (p->field != FIELD_NONE)
        take_value(p);
    p->field = FIELD_NONE;
    if (!p->wrong && p->depth == 2 && p->in_entry)
        take_entry(p);
    p->depth--;
}

static void XMLCALL doctype_starts(void *arg, const XML_Char *name, const XML_Char *system, const XML_Char *public,
                                   int internal)
{
    fail(arg, "it has a document type");
}

int listing_parse(struct bytes xml, struct listing *ret, struct error *e)
{
    if (xml.len > LISTING_XML_MAX)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "list: %zu bytes in one page", xml.len);
    struct parser *p = mem_new(1, sizeof(*p));
    p->xml = XML_ParserCreate("UTF-8");
    if (!p->xml) {
        free(p);
        return error_set(e, ERROR_FAILED, -ENOMEM, "XML_ParserCreate");
    }
    XML_SetUserData(p->xml, p);
    XML_SetElementHandler(p->xml, element_starts, element_ends);
    XML_SetCharacterDataHandler(p->xml, text_comes);
    XML_SetStartDoctypeDeclHandler(p->xml, doctype_starts);
    bool whole = XML_Parse(p->xml, (const char *)xml.data, (int)xml.len, 1) == XML_STATUS_OK;
    if (!whole && !p->wrong)
        p->wrong = XML_ErrorString(XML_GetErrorCode(p->xml));
    else if (whole && (!p->truncated_known || p->truncated != (p->listing.token && *p->listing.token)))
        p->wrong = "it does not say whether and where it goes on";
    XML_ParserFree(p->xml);
    free(p->entry.key);
    const char *wrong = p->wrong;
    struct listing listing = p->listing;
    free(p);
    if (wrong) {
        listing_release(&listing);
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "list: an answer that cannot be true: %s", wrong);
    }
    *ret = listing;
    return 0;
}
