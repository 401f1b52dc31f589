# truth: healthy
# what: xsltproc transforms 5,000 items
# needs: xsltproc
{ echo '<r>'; for i in $(seq 5000); do echo "<i n='$i'>t$i</i>"; done; echo '</r>'; } >a.xml
echo '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/"><o><xsl:for-each select="r/i"><xsl:sort select="@n" order="descending"/><q><xsl:value-of select="."/></q></xsl:for-each></o></xsl:template></xsl:stylesheet>' >a.xsl
record xsltproc -o o.xml a.xsl a.xml
