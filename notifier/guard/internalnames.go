package guard

import (
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// asciiHost returns the name that is looked up for a host, and whether it is valid. IDNA maps
// full-width letters, digits and dots to plain ones and removes invisible characters, as net/http
// does before it connects: "１２７。０。０。１" leads to 127.0.0.1.
func asciiHost(host string) (string, bool) {
	if !strings.ContainsFunc(host, func(r rune) bool { return r >= 0x80 }) {
		return strings.ToLower(host), true
	}
	ascii, err := idna.Lookup.ToASCII(host)
	return ascii, err == nil && ascii != ""
}

// internalDomains are domains without a public owner (RFC 6761, RFC 6762, RFC 8375, and ICANN's
// reservation of "internal").
var internalDomains = []string{"localhost", "localdomain", "internal", "local", "home.arpa"}

var metadataNames = []string{
	"metadata", "instance-data", "metadata.packet.net", "metadata.platformequinix.com", "metadata.tencentyun.com", "rancher-metadata",
}

// internalName returns a description of an internal name, for the merchant, and "" for any other
// name. The host is an asciiHost.
func internalName(host string) string {
	host = strings.TrimSuffix(host, ".")
	if slices.Contains(metadataNames, host) || strings.HasPrefix(host, "metadata.") && within(host, internalDomains) {
		return "a metadata service"
	}
	if within(host, internalDomains) {
		return "a private network"
	}
	return ""
}

func within(host string, domains []string) bool {
	return slices.ContainsFunc(domains, func(d string) bool { return host == d || strings.HasSuffix(host, "."+d) })
}
