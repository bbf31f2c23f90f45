package accountpages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"payledger/domain/account"
	"payledger/httpapi/dashboard/frame"
)

type key struct {
	ID         string
	Name       string
	Scopes     []string
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	LastUsedAt *time.Time
	APIKey     string // only in the answer to its creation
}

type scope struct{ Name, Text string }

var scopeTexts = map[string]string{
	account.ScopeClientTokensWrite:      "Open and change client sessions",
	account.ScopeTransactionsAuthorize:  "Create, resume and adjust payments; approve attempts",
	account.ScopeTransactionsCapture:    "Capture payments",
	account.ScopeTransactionsCancel:     "Cancel payments",
	account.ScopeTransactionsRefund:     "Refund payments",
	account.ScopeTransactionsRetrieve:   "Read payments with the personal data of their customers, and their history",
	account.ScopePaymentInstrumentRead:  "Read stored cards",
	account.ScopePaymentInstrumentWrite: "Store and delete cards",
	account.ScopeEventsRead:             "Read the stream of events",
	account.ScopeAccountRead:            "Read everything that this dashboard shows: all payments with the personal data of their customers, customers, disputes, webhooks with their content, API requests, settings, users and the audit log",
	account.ScopeAccountWrite:           "Everything that settings:write, keys:write and users:write allow. Also: destroy the personal data of a customer or guest for ever. Also: capture, cancel or refund payments as this dashboard does, if you tick the scope of that operation, too",
	account.ScopeSettingsWrite:          "Change how payments run: the settings, processors, routing rules and workflows; make and change webhook endpoints, and send webhooks again. A workflow that moves money also needs the scope of its operation",
	account.ScopeKeysWrite:              "Make and revoke API keys with scopes that the key has itself; rotate the signing secret",
	account.ScopeUsersWrite:             "Add, change and remove users",
}

type scopeGroup struct {
	Name, Note string
	Scopes     []scope
}

// reading are the scopes that change nothing.
var reading = []string{account.ScopeTransactionsRetrieve, account.ScopePaymentInstrumentRead, account.ScopeEventsRead, account.ScopeAccountRead}

// scopeGroups has all scopes: those that change nothing, and the others.
func scopeGroups() []scopeGroup {
	reads := scopeGroup{Name: "Reading", Note: "These change nothing and move no money."}
	changes := scopeGroup{Name: "Changing", Note: "These move money, or change payments, cards or the account."}
	for _, name := range account.Scopes {
		to := &changes
		if slices.Contains(reading, name) {
			to = &reads
		}
		to.Scopes = append(to.Scopes, scope{name, scopeTexts[name]})
	}
	return []scopeGroup{reads, changes}
}

type keysView struct {
	frame.Form
	Keys   []key
	Groups []scopeGroup
	Reads  string // the scopes that change nothing, with blanks between them
	Made   *key   // just created
	Change bool
}

func keys(v *frame.Visit) error {
	form := newKey()
	if v.Value("scopes") == "read" {
		form.Values["scopes"] = slices.Clone(reading)
	}
	return showKeys(v, keysView{Form: form})
}

func newKey() frame.Form {
	return frame.Form{Values: url.Values{"scopes": {account.ScopeTransactionsRetrieve}}}
}

func showKeys(v *frame.Visit, out keysView) error {
	all, err := frame.All[key](v, "/management/api-keys")
	if err != nil {
		return err
	}
	slices.Reverse(all) // newest first
	out.Keys, out.Change, out.Groups = all, v.Admin(), scopeGroups()
	out.Reads = strings.Join(reading, " ")
	return v.Show(frame.Page{Name: "keys", Title: "API keys", Nav: pathKeys, Status: out.Status(), Data: out})
}

// createKey creates an API key and shows it once. A repeat of the form makes another key, which can
// be revoked.
func createKey(v *frame.Visit, form frame.Form) error {
	out := keysView{Form: form}
	body := map[string]any{"name": form.Text("name"), "scopes": append([]string{}, form.Values["scopes"]...)}
	if day := form.Text("expiresAt"); day != "" {
		expires, err := frame.ParseDay(day)
		if err != nil {
			out.Fault("expiresAt", "Write the day as in 2027-03-14.")
		}
		body["expiresAt"] = expires.Format(time.RFC3339)
	}
	if form.Text("name") == "" {
		out.Fault("name", "Give the key a name, such as the program that uses it.")
	}
	if len(form.Values["scopes"]) == 0 {
		out.Fault("scopes", "Choose one scope or more.")
	}
	var made key
	sent, err := out.Send(v, http.MethodPost, "/management/api-keys", body, "", &made, "name", "scopes", "expiresAt")
	if err != nil {
		return err
	}
	if sent {
		out = keysView{Made: &made, Form: newKey()}
	}
	return showKeys(v, out)
}

func keyOf(v *frame.Visit) (key, error) {
	return frame.One(v, "/management/api-keys", func(k key) bool { return k.ID == v.Request.PathValue("id") },
		frame.Missing("The account has no such API key. It may be revoked already.", "Look at the list of API keys."))
}

func askRevoke(v *frame.Visit, k key) error {
	return v.Show(frame.Page{Name: "revoke", Title: "Revoke an API key", Nav: pathKeys, Data: k})
}

// revoke revokes an API key. To revoke it again does no harm.
func revoke(v *frame.Visit, form frame.Form) error {
	if form.Review {
		return frame.With(keyOf, askRevoke)(v)
	}
	err := v.Send(http.MethodDelete, frame.Path("management", "api-keys", v.Request.PathValue("id")), nil, "", nil)
	if err != nil && frame.StatusOf(err) != http.StatusNotFound {
		return err
	}
	return v.Redirect(pathKeys, "revoked")
}
