/* truth: sick
 * what: the namespaces of a temporary document are not freed with it
 * real: libxml2 before 2.9.10, CVE-2019-19956: xmlParseBalancedChunkMemoryRecover leaks newDoc->oldNs
 * expect: leak-lost leak-growth
 * flags: -O2 */
#include "truth.h"

static void *(*xmlMalloc)(size_t) = malloc;
static void (*xmlFree)(void *) = free;

struct ns {
    struct ns *next;
    char href[100];
};

struct doc {
    struct ns *oldNs;
    char *content;
};

NOINLINE static struct ns *xmlTreeEnsureXMLDecl(struct doc *doc)
{
    struct ns *ns = xmlMalloc(sizeof *ns); /* guilty: xmlTreeEnsureXMLDecl */
    memset(ns, 0, sizeof *ns);
    strcpy(ns->href, "http://www.w3.org/XML/1998/namespace");
    doc->oldNs = ns;
    use(doc);
    return ns;
}

NOINLINE static size_t xmlParseBalancedChunk(int i)
{
    struct doc *doc = xmlMalloc(sizeof *doc);
    doc->content = xmlMalloc(1000);
    snprintf(doc->content, 1000, "<a>%d</a>", i);
    size_t size = strlen(doc->content) + strlen(xmlTreeEnsureXMLDecl(doc)->href);
    xmlFree(doc->content);
    xmlFree(doc);
    return size;
}

int main(void)
{
    size_t size = 0;
    for (int i = 0; i < 15000; i++) {
        size += xmlParseBalancedChunk(i);
        pace(i, 30);
    }
    printf("%zu\n", size);
    return 0;
}
