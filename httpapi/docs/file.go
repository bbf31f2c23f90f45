package docs

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"

	"payledger/httpapi/style"
)

// Cache-Control: pages are validated at each use; files that pages load have style.KeepForEver.
const (
	cachePages = "no-cache"
	cacheNever = "no-store" // a file at the address of another content
)

// File is a page, or a file that pages load.
type File struct {
	Status      int
	contentType string
	cache       string
	packed      []byte // gzip
	negotiated  bool   // the answer depends on the header Accept
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
	return File{Status: http.StatusOK, contentType: contentType, cache: cache, packed: b.Bytes()}, nil
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
	style.SetHeaders(h, f.contentType, f.cache, style.Unconnected)
	h.Set("Vary", "Accept-Encoding")
	if f.negotiated {
		h.Set("Vary", "Accept, Accept-Encoding")
	}
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
