package docs

import (
	"strings"
	"sync"
)

// Path is the address of the documentation; its pages and files are below it.
const Path = "/docs"

// Postman is the address of the collection for Postman and Bruno.
const Postman = Path + "/payledger.postman_collection.json"

// Home is the address of the server's first page, which leads to the dashboard and to Path.
const Home = "/"

// Config has the contents of the pages.
type Config struct {
	OpenAPI, AsyncAPI []byte
	Suggestions       map[string]string // the usual recovery by errorId
	PublicURL         string            // this service as clients reach it
	Sandbox           bool              // else production: the pages take no key
	Dashboard         string            // its address; "": there is none
}

// Docs has the pages.
type Docs struct {
	build func() (map[string]maker, error)
}

// maker returns a page or file. The first call makes it.
type maker func() (File, error)

// New prepares the pages. The first request reads the contents of all pages. Each page is made at
// its own first request.
func New(c Config) *Docs {
	return &Docs{build: sync.OnceValues(func() (map[string]maker, error) { return build(c) })}
}

// Get returns the page, or the file that pages load, of an address; a page that says so, with the
// status 404, when there is none.
func (d *Docs) Get(path string) (File, error) {
	files, err := d.build()
	if err != nil {
		return File{}, err
	}
	if file, found := files[path]; found {
		return file()
	}
	if version, name, is := asset(path); is {
		for known, current := range files {
			if own, same, _ := asset(known); same == name && own != version {
				file, err := current()
				file.cache = cacheNever
				return file, err
			}
		}
	}
	return files[notFound]()
}

// asset returns the parts of the address of a file that pages load. A page of another release names
// another version.
func asset(path string) (version, name string, is bool) {
	rest, is := strings.CutPrefix(path, Path+"/assets/")
	version, name, _ = strings.Cut(rest, "/")
	return version, name, is
}

// Pages returns the addresses of all pages and files.
func (d *Docs) Pages() ([]string, error) {
	files, err := d.build()
	var all []string
	for path := range files {
		if path != notFound {
			all = append(all, path)
		}
	}
	return all, err
}
