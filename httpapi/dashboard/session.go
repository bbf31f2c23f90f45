package dashboard

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"payledger/eventstore/commands/users"
	"payledger/httpapi/dashboard/frame"
)

// cookieName is the session cookie, and deviceName the one of a browser on which a user has signed
// in: it outlives the session. The prefix makes browsers refuse them without Secure, with a Domain,
// or from another path.
const cookieName, deviceName = "__Host-payledger", "__Host-payledger-device"

// identify returns the session of the browser, and renews it. A *users.Refusal means that there is
// none.
func (d *Dashboard) identify(w http.ResponseWriter, r *http.Request) (users.Current, error) {
	token := ""
	if cookie, err := r.Cookie(cookieName); err == nil {
		token = cookie.Value
	}
	current, err := d.Users.Session(r.Context(), token)
	if err != nil {
		return users.Current{}, err
	}
	if current.Renewed != "" && r.Header.Get("X-Dashboard-Refresh") == "" { // an open page that nobody uses ends like any other session
		setCookie(w, current.Renewed)
	}
	return current, nil
}

func identity(r *http.Request, current users.Current) frame.Identity {
	from := originOf(r)
	return frame.Identity{Merchant: current.Account, User: current.User, Session: current.Session.ID, Client: from.From, RequestID: from.RequestID}
}

func originOf(r *http.Request) users.Origin {
	client, id := frame.Client(r.Context())
	return users.Origin{From: client, RequestID: id}
}

func setCookie(w http.ResponseWriter, token string) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: token, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// setDevice makes the browser a known device of the user (D22.13). It proves nothing else.
func setDevice(w http.ResponseWriter, token string) {
	http.SetCookie(w, &http.Cookie{
		Name: deviceName, Value: token, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		MaxAge: int(users.DeviceLife / time.Second),
	})
}

func deviceOf(r *http.Request) string {
	if cookie, err := r.Cookie(deviceName); err == nil {
		return cookie.Value
	}
	return ""
}

func dropCookie(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: -1, Expires: time.Unix(1, 0),
	})
}

// safeNext returns the page to go to after a sign-in: one of the dashboard, else its start page.
func safeNext(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || strings.ContainsAny(next, "\\\r\n") {
		return Path
	}
	if at := path.Clean(u.Path); at != Path && !strings.HasPrefix(at, Path+"/") || at != u.Path {
		return Path
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}

func (d *Dashboard) unavailable(w http.ResponseWriter, r *http.Request, err error) error {
	noteOf(w).Failure = err
	w.Header().Set("Retry-After", "2")
	return d.frame.ShowNotice(w, r, http.StatusServiceUnavailable, "Not now",
		"Your session cannot be checked at the moment. Nothing was done.", "Wait a moment, go back and try again. Your input is still there.")
}
