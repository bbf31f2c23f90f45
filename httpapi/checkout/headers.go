package checkout

import (
	"fmt"
	"net/url"
	"strings"
)

// ownPolicy is the content security policy up to the value of frame-ancestors: all comes from this
// service, and no text becomes code.
const ownPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'; frame-ancestors "

// anyAncestors are all pages of the web.
const anyAncestors = "https: http:"

// ancestorsOf returns the value of frame-ancestors.
func ancestorsOf(frameAncestors []string) (string, error) {
	if len(frameAncestors) == 0 {
		return "'none'", nil
	}
	for _, origin := range frameAncestors {
		if !isOrigin(origin) {
			return "", fmt.Errorf("checkout: %q may not frame the page: an origin is scheme://host[:port], with http or https", origin)
		}
	}
	return strings.Join(frameAncestors, " "), nil
}

func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" &&
		text == u.Scheme+"://"+u.Host && !strings.ContainsAny(text, "*;, '\"")
}
