package dashboard

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"payledger/domain/account"
	"payledger/eventstore/commands/users"
	"payledger/httpapi/dashboard/accountpages"
	"payledger/httpapi/dashboard/approvalpages"
	"payledger/httpapi/dashboard/customerpages"
	"payledger/httpapi/dashboard/disputepages"
	"payledger/httpapi/dashboard/frame"
	"payledger/httpapi/dashboard/homepages"
	"payledger/httpapi/dashboard/paymentpages"
	"payledger/httpapi/dashboard/processorpages"
	"payledger/httpapi/dashboard/reconcilepages"
	"payledger/httpapi/dashboard/requestpages"
	"payledger/httpapi/dashboard/settingspages"
	"payledger/httpapi/dashboard/webhookpages"
	"payledger/httpapi/dashboard/workflowpages"
)

// Path is the address of the start page.
const Path = "/dashboard"

// NeedsNoPlace reports whether an answer takes nothing but the processor: a file, or the sign-in
// page.
func NeedsNoPlace(r *http.Request) bool {
	_, err := r.Cookie(cookieName)
	return r.Method == http.MethodGet && (strings.HasPrefix(r.URL.Path, Path+"/assets/") || r.URL.Path == pathLogin && err != nil)
}

// Config has the parts behind the dashboard.
type Config struct {
	frame.Config
	Users *users.Users
}

// Dashboard serves the pages.
type Dashboard struct {
	Config
	frame  *frame.Frame
	mux    *http.ServeMux
	origin *http.CrossOriginProtection
}

var screens = []struct {
	files  fs.FS
	routes map[string]frame.Screen
}{
	{homepages.Files, homepages.Routes},
	{paymentpages.Files, paymentpages.Routes},
	{approvalpages.Files, approvalpages.Routes},
	{customerpages.Files, customerpages.Routes},
	{settingspages.Files, settingspages.Routes},
	{webhookpages.Files, webhookpages.Routes},
	{accountpages.Files, accountpages.Routes},
	{disputepages.Files, disputepages.Routes},
	{reconcilepages.Files, reconcilepages.Routes},
	{requestpages.Files, requestpages.Routes},
	{processorpages.Files, processorpages.Routes},
	{workflowpages.Files, workflowpages.Routes},
}

// Pages returns the pages as method and path, such as "GET /dashboard/payments/{id}": the addresses
// that a GET answers.
func Pages() []string {
	return append([]string{"GET " + pathLogin, "GET " + pathMe, "GET " + pathSessions}, patterns(http.MethodGet)...)
}

// Forms returns the forms as method and path, such as "POST /dashboard/users": those that change
// something of the account.
func Forms() []string { return patterns(http.MethodPost) }

func patterns(method string) (all []string) {
	for _, s := range screens {
		for pattern := range s.routes {
			if strings.HasPrefix(pattern, method+" ") {
				all = append(all, pattern)
			}
		}
	}
	slices.Sort(all)
	return all
}

// templates parses the templates of all screens, once.
var templates = sync.OnceValues(func() (*frame.Templates, error) {
	var sets []fs.FS
	for _, s := range screens {
		sets = append(sets, s.files)
	}
	return frame.Parse(sets...)
})

// New prepares the pages.
func New(c Config) (*Dashboard, error) {
	parsed, err := templates()
	if err != nil {
		return nil, fmt.Errorf("dashboard: %w", err)
	}
	f := frame.New(c.Config, parsed)
	d := &Dashboard{Config: c, frame: f, mux: http.NewServeMux(), origin: http.NewCrossOriginProtection()}
	d.outside("GET "+pathLogin, d.showSignIn)
	d.outside("POST "+pathLogin, d.signIn)
	d.outside("POST "+pathLogout, d.signOut)
	d.outside("GET /dashboard/assets/{version}/{file}", func(w http.ResponseWriter, r *http.Request) error {
		if !f.ServeAsset(w, r) {
			return f.ShowNotice(w, r, http.StatusNotFound, "There is nothing here", "The dashboard has no file at this address.", "")
		}
		return nil
	})
	for _, s := range screens {
		for pattern, screen := range s.routes {
			d.inside(pattern, screen)
		}
	}
	d.personalRoutes()
	d.inside(noPage, d.elsewhere)
	return d, nil
}

// noPage is the pattern of the addresses that are no page.
const noPage = "GET " + Path + "/"

// elsewhere leads from an address that takes forms only to the page above it: a sign-in after such
// a form comes there. An address with a slash at its end leads to the page without it (D1).
func (d *Dashboard) elsewhere(v *frame.Visit) error {
	at := v.Request.URL.Path
	if whole := strings.TrimSuffix(at, "/"); whole != at {
		if found := d.pattern(http.MethodGet, whole); found != "" && found != noPage {
			return v.Redirect(frame.Address(whole, v.Request.URL.Query()), "")
		}
	}
	if d.pattern(http.MethodPost, at) == "" {
		return frame.NotFound()
	}
	for at != Path {
		at = path.Dir(at)
		if found := d.pattern(http.MethodGet, at); found != "" && found != noPage {
			break
		}
	}
	return v.Redirect(at, "")
}

// pattern returns the pattern that answers a method at a path; "" for none.
func (d *Dashboard) pattern(method, at string) string {
	_, found := d.mux.Handler(&http.Request{Method: method, URL: &url.URL{Path: at}})
	return found
}

// Served is what is logged about an answer.
type Served struct {
	Status  int
	Route   string
	Account account.State
	Actor   string
	Failure error // of our own
	Gone    error // the browser went away
	Abort   bool  // the answer is not whole: cut the connection
}

// Serve answers one request below Path.
func (d *Dashboard) Serve(w http.ResponseWriter, r *http.Request) (served Served) {
	seen := &sent{ResponseWriter: w, Served: Served{Status: http.StatusOK}}
	defer func() {
		if p := recover(); p != nil {
			seen.Abort = seen.begun
			seen.Failure = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			if !seen.begun {
				_ = d.frame.ShowNotice(seen, r, http.StatusInternalServerError, "Something went wrong on our side",
					"The page could not be made. If you sent a form, it is not known whether it took effect.", "Look at the payment or the list first.")
			}
		}
		served = seen.Served
	}()
	if err := d.origin.Check(r); err != nil {
		seen.Route = "(another site)"
		seen.Gone = d.frame.ShowNotice(seen, r, http.StatusForbidden, "This came from another site",
			"A form of another site was sent to the dashboard. Nothing was done.", "Open the dashboard and do it there.")
		return
	}
	if _, seen.Route = d.mux.Handler(r); seen.Route == "" { // a page, by another method
		allowed := []string{http.MethodGet, http.MethodHead}
		if d.pattern(http.MethodPost, r.URL.Path) != "" {
			allowed = append(allowed, http.MethodPost)
		}
		seen.Header().Set("Allow", strings.Join(allowed, ", "))
		seen.Gone = d.frame.ShowNotice(seen, r, http.StatusMethodNotAllowed, "This address takes no such request",
			"The dashboard's pages are read with GET, and its forms are sent with POST. Nothing was done.", "")
		return
	}
	d.mux.ServeHTTP(seen, r)
	return
}

// sent notes the status of an answer. It has the notes about the request, for its log line.
type sent struct {
	http.ResponseWriter
	Served
	begun bool
}

func noteOf(w http.ResponseWriter) *Served { return &w.(*sent).Served } //nolint:forcetypeassert // Serve passes no other writer

// WriteHeader implements http.ResponseWriter.
func (s *sent) WriteHeader(status int) {
	s.Status, s.begun = status, true
	s.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (s *sent) Write(b []byte) (int, error) {
	s.begun = true
	return s.ResponseWriter.Write(b)
}

// Unwrap serves http.ResponseController.
func (s *sent) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (d *Dashboard) outside(pattern string, handle func(http.ResponseWriter, *http.Request) error) {
	d.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		d.ended(w, handle(w, r))
	})
}

func (d *Dashboard) inside(pattern string, screen frame.Screen) {
	d.personal(pattern, func(v *frame.Visit, _ users.Current) error { return screen(v) })
}

// personal serves a page that needs to know the user's session. Without a session it shows the
// sign-in page.
func (d *Dashboard) personal(pattern string, screen func(*frame.Visit, users.Current) error) {
	d.outside(pattern, func(w http.ResponseWriter, r *http.Request) error {
		current, err := d.identify(w, r)
		switch why := users.ReasonOf(err); {
		case why != "":
			return d.askToSignIn(w, r, why)
		case err != nil:
			return d.unavailable(w, r, err)
		}
		note := noteOf(w)
		note.Account, note.Actor = current.Account, users.Actor(current.User.ID)
		v := d.frame.Visit(w, r, identity(r, current))
		return d.shown(v, screen(v, current))
	})
}

func (d *Dashboard) shown(v *frame.Visit, err error) error {
	if _, gone := errors.AsType[frame.Gone](err); err == nil || gone {
		return err
	}
	if status := frame.StatusOf(err); status == 0 || status >= http.StatusInternalServerError {
		noteOf(v.Writer).Failure = err
	}
	return v.ShowError(err)
}

func (d *Dashboard) ended(w http.ResponseWriter, err error) {
	note := noteOf(w)
	if gone, is := errors.AsType[frame.Gone](err); is {
		note.Gone = gone.Err
	} else if err != nil {
		note.Failure = err
	}
}
