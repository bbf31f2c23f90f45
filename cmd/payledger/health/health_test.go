package health

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"payledger/cmd/payledger/terminal"
)

// TestHealth: only 200 of /readyz is healthy, and the reason is in the error.
func TestHealth(t *testing.T) {
	handler := func(status int, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/readyz" {
				status = http.StatusNotFound
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			w.Write([]byte(body))
		})
	}
	for name, test := range map[string]struct {
		status     int
		body, says string
	}{
		"ready":              {200, `{"ready":true}`, ""},
		"starting":           {503, `{"ready":false,"reason":"starting: opening the log"}`, "answered 503 starting: opening the log"},
		"refused":            {503, `{"error":{"description":"Too many connections."}}`, "Too many connections."},
		"another program":    {404, "not here\nand nowhere", "answered 404 not here"},
		"a redirect":         {302, "", "answered 302"},
		"a success of sorts": {204, "", "answered 204"},
	} {
		for _, secure := range []bool{false, true} {
			server := httptest.NewUnstartedServer(handler(test.status, test.body))
			c := Command{Timeout: time.Minute}
			if secure {
				server.StartTLS()
				c.TLSCert = "its certificate"
			} else {
				server.Start()
			}
			c.Listen = server.Listener.Addr().String()
			err := c.Run(t.Context(), terminal.Streams{})
			server.Close()
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s, TLS %v: %v", name, secure, err)
			}
			if err := c.Run(t.Context(), terminal.Streams{}); err == nil || !strings.Contains(err.Error(), "no answer") {
				t.Errorf("a server that is gone: %v", err)
			}
		}
	}
}

// TestAddress: the command reaches the service at the address that serve listens on.
func TestAddress(t *testing.T) {
	for c, url := range map[Command]string{
		{Listen: "127.0.0.1:8080"}:                   "http://127.0.0.1:8080/readyz",
		{Listen: "0.0.0.0:8080"}:                     "http://127.0.0.1:8080/readyz",
		{Listen: ":8080"}:                            "http://127.0.0.1:8080/readyz",
		{Listen: "[::]:8443", TLSCert: "c"}:          "https://[::1]:8443/readyz",
		{Listen: "10.0.0.1:80"}:                      "http://10.0.0.1:80/readyz",
		{Listen: "10.0.0.1:80", Probe: "http://a/b"}: "http://a/b",
		{Listen: "nonsense"}:                         "",
		{Listen: "127.0.0.1:0"}:                      "",
	} {
		if got, err := c.url(); got != url || (err == nil) != (url != "") {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
}
