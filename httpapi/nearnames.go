package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"payledger/httpapi/nearmiss"
	"payledger/httpapi/request"
)

// didYouMean suggests the wanted header, which is missing, for a header of the request that
// resembles it; "" if none does.
func didYouMean(h http.Header, wanted string) string {
	if near := request.NearHeader(h, wanted); near != "" && h.Get(wanted) == "" {
		return "The request has the header " + near + "; did you mean " + wanted + "? "
	}
	return ""
}

// skipped are first segments that only paths of other services have.
var skipped = []string{"api", "v1", "v2", "v3", "rest"}

// nearPath returns the path of openapi.yaml that an unknown path resembles, "" if none.
func nearPath(routes []route, path, method string) string {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	for len(segments) > 1 && slices.Contains(skipped, strings.ToLower(segments[0])) {
		segments = segments[1:]
	}
	best, least := "", worst
	for _, r := range routes {
		if r.access == byPage {
			continue
		}
		rest, managed := strings.CutPrefix(r.path, "/management/")
		for i, pattern := range []string{r.path, rest}[:1+count(managed)] {
			cost := 4*pathDistance(segments, strings.Split(strings.Trim(pattern, "/"), "/")) + 2*i + count(r.method != method)
			if cost < least {
				best, least = r.path, cost
			}
		}
	}
	return best
}

const worst = 1 << 20

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// pathDistance returns the number of segments that differ from a pattern's but resemble them; worst
// if a segment does not.
func pathDistance(segments, pattern []string) (n int) {
	if len(segments) != len(pattern) {
		return worst
	}
	for i, want := range pattern {
		switch {
		case strings.HasPrefix(want, "{"):
			if segments[i] == "" {
				return worst
			}
		case segments[i] == want:
		case nearmiss.Of(segments[i], []string{want}) == "":
			return worst
		default:
			n++
		}
	}
	return n
}
