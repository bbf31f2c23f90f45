package proofpage

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"

	"payledger/httpapi/style"
)

// Path is the address of the page. The files that it loads are below Path/assets.
const Path = "/proof"

//go:embed assets
var files embed.FS

var page = template.Must(template.ParseFS(files, "assets/proof.html"))

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
	contentType := style.ContentType(name)
	return File{contentType, body}, err == nil && contentType != ""
}

// Write answers a request with the file.
func (f File) Write(w http.ResponseWriter) error {
	style.SetHeaders(w.Header(), f.contentType, "no-cache", style.Unconnected)
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(f.body)
	return err
}
