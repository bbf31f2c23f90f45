package adapter

import "net/http"

// Over makes the adapter's calls over a transport.
func (c *Adapter) Over(t http.RoundTripper) { c.http = &http.Client{Transport: t} }
