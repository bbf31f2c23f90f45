package proofpage

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"path"
)

// Path is the address of the page. The files that it loads are below Path/assets.
const Path = "/proof"

//go:embed assets
var files embed.FS

var page = template.Must(template.ParseFS(files, "assets/proof.html"))

// types are the files that the page loads.
var types = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// policy is the content security policy: own files, and no connection.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'none'; form-action 'none'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// File is the page, or a file that it loads.
type File struct {
	contentType string
	body        []byte
}

// Page returns the page with a verifier key filled in.
func Page(verifierKey string) (File, error) {
	var b bytes.Buffer
	if err := page.Execute(&b, verifierKey); err != nil {
		return File{}, fmt.Errorf("proofpage: %w", err)
	}
	return File{"text/html; charset=utf-8", b.Bytes()}, nil
}

// Asset returns a file that the page loads; false when there is none.
func Asset(name string) (File, bool) {
	body, err := files.ReadFile("assets/" + name)
	contentType := types[path.Ext(name)]
	return File{contentType, body}, err == nil && contentType != ""
}

// Write answers a request with the file.
func (f File) Write(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(f.body)
	return err
}
