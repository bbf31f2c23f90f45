package docs

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// policy is the content security policy: own files, and no connection.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'none'; form-action 'none'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Cache-Control: pages are validated at each use; assets are kept for ever at the address of their content.
const (
	cachePages  = "no-cache"
	cacheAssets = "public, max-age=31536000, immutable"
	cacheNever  = "no-store" // an asset at the address of another content
)

// File is a page, or a file that pages load.
type File struct {
	Status      int
	contentType string
	cache       string
	packed      []byte // gzip
}

func pack(contentType, cache string, body []byte) (File, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(body); err != nil {
		return File{}, fmt.Errorf("docs: %w", err)
	}
	if err := w.Close(); err != nil {
		return File{}, fmt.Errorf("docs: %w", err)
	}
	return File{http.StatusOK, contentType, cache, b.Bytes()}, nil
}

// Body returns the file's content.
func (f File) Body() ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(f.packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// Write answers a request with the file, compressed if the client takes that.
func (f File) Write(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", f.cache)
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Vary", "Accept-Encoding")
	h.Set("X-Content-Type-Options", "nosniff")
	body := f.packed
	if takesGzip(r.Header) {
		h.Set("Content-Encoding", "gzip")
	} else {
		plain, err := f.Body()
		if err != nil {
			return err
		}
		body = plain
	}
	w.WriteHeader(f.Status)
	_, err := w.Write(body)
	return err
}

// takesGzip reports whether the header Accept-Encoding names gzip and does not refuse it.
func takesGzip(h http.Header) bool {
	for coding := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		name, parameters, _ := strings.Cut(coding, ";")
		quality, weighted := strings.CutPrefix(strings.TrimSpace(parameters), "q=")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return !weighted || strings.Trim(quality, "0.") != ""
		}
	}
	return false
}
