package main

import (
	"net/url"
	"strings"
)

// withoutUsers returns a URL, or a list of them with commas, without the users and passwords in it: it is printed. Of a list that
// holds one, a part that is no URL is left out.
func withoutUsers(text string) string {
	if !holdsPassword(text) {
		return text
	}
	var shown []string
	for part := range strings.SplitSeq(text, ",") {
		if u, err := url.Parse(strings.TrimSpace(part)); err == nil && u.Host != "" {
			u.User = nil
			shown = append(shown, u.String())
		}
	}
	return strings.Join(shown, ",")
}
