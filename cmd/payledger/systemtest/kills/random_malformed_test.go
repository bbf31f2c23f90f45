//go:build system

package kills

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// changed is a value with one place of it made another: a field more or less, another type, a
// limit.
func (v *values) changed(value any) any {
	switch value := value.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(value))
		if len(names) == 0 || v.percent(15) {
			value[fmt.Sprint("extra", v.Intn(9))] = v.odd()
			return value
		}
		name := names[v.Intn(len(names))]
		if v.percent(15) {
			delete(value, name)
			return value
		}
		value[name] = v.changed(value[name])
		return value
	case []any:
		if len(value) == 0 || v.percent(30) {
			return append(value, v.odd())
		}
		at := v.Intn(len(value))
		value[at] = v.changed(value[at])
		return value
	}
	return v.odd()
}

// odd is a value that fits few fields.
func (v *values) odd() any {
	switch v.Intn(12) {
	case 0:
		return nil
	case 1:
		return "4111 1111 1111 1111"
	case 2:
		return strings.Repeat("x", 1<<v.Intn(15))
	case 3:
		return -1
	case 4:
		return 1e300
	case 5:
		return 0.5
	case 6:
		return map[string]any{"": map[string]any{}}
	case 7:
		return []any{[]any{nil}, true}
	case 8:
		return "\x00\x01\u202e"
	case 9:
		return "4111111111111111"
	case 10:
		return ""
	default:
		return false
	}
}

// broken is a body that is no JSON object any more, mostly.
func (v *values) broken(body string) string {
	at := v.Intn(len(body) + 1)
	switch v.Intn(14) {
	case 0:
		return body[:at]
	case 1:
		return body[:at] + "\xff\xc0\xaf" + body[at:]
	case 2:
		return body[:at] + "\x00" + body[at:]
	case 3:
		return strings.Repeat("[", 1+v.Intn(2000))
	case 4:
		return `{"a":` + strings.Repeat(`{"a":`, 1+v.Intn(60)) + "1" + strings.Repeat("}", 61)
	case 5:
		return body + body
	case 6:
		return strings.Replace(body, ":", ":1e999999999,\"\":", 1)
	case 7:
		return strings.Replace(body, "{", `{"a":1,"a":2,`, 1)
	case 8:
		return "\ufeff" + body
	case 9:
		return `{"amount":` + strings.Repeat("9", 1+v.Intn(5000)) + "}"
	case 10:
		return `{"orderId":"\ud800"}`
	case 11:
		return []string{"", "null", "[]", "\"\"", "0", "true", " "}[v.Intn(7)]
	case 12:
		if v.percent(5) {
			return `{"orderId":"` + strings.Repeat("x", 1<<20) + `"}`
		}
		return strings.ReplaceAll(body, `"`, `'`)
	default:
		b := []byte(body + " ")
		b[v.Intn(len(b))] = byte(v.Intn(256))
		return string(b)
	}
}

// oddHeaders spoils a header.
func (v *values) oddHeaders(header map[string][]string) {
	long := strings.Repeat("h", 1<<v.Intn(14))
	switch v.Intn(11) {
	case 0:
		header["Content-Type"] = []string{[]string{"text/plain", "application/json; charset=utf-16", "multipart/form-data", "application/", long}[v.Intn(5)]}
	case 1:
		delete(header, "X-API-Key")
	case 2:
		header["X-API-Key"] = []string{long}
	case 3:
		header["X-API-Version"] = []string{[]string{"2.3", "", long, "2.4, 2.4"}[v.Intn(4)]}
	case 4:
		header["X-Client-Token"] = []string{[]string{long, "a.b.c", "\u00e9", "eyJhbGciOiJub25lIn0.e30."}[v.Intn(4)]}
	case 5:
		header["X-Idempotency-Key"] = []string{[]string{long, " ", "\u00e9\u202e", "4111111111111111", "a"}[v.Intn(5)]}
	case 6:
		header["X-Idempotency-Key"] = []string{"a", "b"}
	case 7:
		header["Accept"] = []string{"application/xml"}
	case 8:
		header["Content-Encoding"] = []string{"gzip"}
	case 9:
		header["X-Odd"] = []string{long}
	case 10:
		header["X-Request-Id"] = []string{long}
	}
}
