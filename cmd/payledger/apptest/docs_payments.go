package apptest

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"payledger/domain/processor"
)

// PlainCard is a card that the simulator approves.
const PlainCard = "4111111111111111"

// vaulted vaults a card and returns its token.
func (r *Reader) vaulted() string {
	r.T.Helper()
	token := r.Card(r.Session(nil), PlainCard)
	r.Must(r.T, "POST", "/payment-instruments/"+token+"/vault", r.Headers(), map[string]any{"customerId": "customer-7"})
	return token
}

// waiting creates a payment with a 3-D Secure check, and returns its id, its session's client token
// and its action's.
func (r *Reader) waiting() (payment, client, action string) {
	r.T.Helper()
	client = r.Session(nil)
	got := r.Must(r.T, "POST", "/payments", r.Headers(), map[string]any{"paymentMethodToken": r.Card(client, "4916994064252017")})
	var p struct {
		ID             string
		RequiredAction struct{ ClientToken string }
	}
	got.Decode(r.T, &p)
	return p.ID, client, p.RequiredAction.ClientToken
}

func (r *Reader) passed(action string) string {
	r.T.Helper()
	return r.Field("POST", "/required-actions/complete", map[string]string{"X-Client-Token": action}, map[string]any{"outcome": "AUTHENTICATED"}, "resumeToken")
}

// Attempt starts a payment attempt in a MANUAL session, and returns its id and the session's client
// token.
func (r *Reader) Attempt() (attempt, client string) {
	r.T.Helper()
	client = r.Session(map[string]any{"approvalMode": "MANUAL"})
	return r.Field("POST", "/payment-attempts", map[string]string{"X-Client-Token": client}, map[string]any{"paymentMethodToken": r.Card(client, PlainCard)}, "currentAttempt.id"), client
}

func (r *Reader) endpoint() string {
	r.T.Helper()
	return r.Field("POST", "/management/webhook-endpoints", r.Headers(), map[string]any{"url": r.receiver, "description": "shop"}, "id")
}

func (r *Reader) workflow() string {
	r.T.Helper()
	return r.Field("POST", "/management/workflows", r.Headers(), smallOrders("payment.amount <= 100"), "id")
}

// smallOrders is a workflow with a condition.
func smallOrders(condition string) map[string]any {
	return map[string]any{
		"name": "Capture small orders", "trigger": map[string]any{"eventType": "PAYMENT.STATUS", "status": "AUTHORIZED"}, "condition": condition,
		"actions": []any{map[string]any{"type": "capture"}},
	}
}

// listened makes a listener, and reads a webhook of its stream, which stays open.
func (r *Reader) listened() Own {
	r.T.Helper()
	mine := listens(r)
	stream := r.Stream(r.T, "/management/webhook-listeners/"+mine[exampleListener]+"/stream")
	stream.Message(r.T, "ready")
	r.Paid(PlainCard, nil)
	var webhook struct{ ID string }
	if err := json.Unmarshal(stream.Message(r.T, "webhook"), &webhook); err != nil || webhook.ID == "" {
		r.T.Fatalf("%+v %v", webhook, err)
	}
	mine[exampleWebhook] = webhook.ID
	return mine
}

// meanwhile makes a call again and again, one after the other, while an example reads a stream.
func (r *Reader) meanwhile(method, path string) {
	done := make(chan struct{})
	r.T.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		for range 200 {
			_, _ = r.Call(method, path, r.Headers(), nil)
		}
	}()
}

// delivered returns a webhook delivery that succeeded.
func (r *Reader) delivered() Own {
	r.T.Helper()
	endpoint := r.endpoint()
	payment := r.Paid(PlainCard, nil)
	return Own{exampleEndpoint: endpoint, ExamplePayment: payment, exampleDelivery: r.eventually("/management/webhook-deliveries?outcome=SUCCEEDED&endpointId="+endpoint, "id")}
}

// given returns the values for each example, by operationId. An example with a path alone gets the
// value of its id.
var given = map[string]func(*Reader) Own{
	"getClientSession":             func(r *Reader) Own { return Own{"CLIENT_TOKEN": r.Session(nil)} },
	"changeClientSession":          func(r *Reader) Own { return Own{exampleClientToken: r.Session(nil)} },
	"createPayment":                func(r *Reader) Own { return Own{ExampleToken: r.Card(r.Session(nil), PlainCard)} },
	"createPaymentInstrument":      func(r *Reader) Own { return Own{"CLIENT_TOKEN": r.Session(nil)} },
	"listPaymentInstruments":       func(r *Reader) Own { return Own{ExampleToken: r.vaulted()} },
	"vaultPaymentInstrument":       func(r *Reader) Own { return Own{ExampleToken: r.Card(r.Session(nil), PlainCard)} },
	"makePaymentInstrumentDefault": func(r *Reader) Own { return Own{ExampleToken: r.vaulted()} },
	"deletePaymentInstrument":      func(r *Reader) Own { return Own{ExampleToken: r.vaulted()} },
	"resumePayment": func(r *Reader) Own {
		payment, _, action := r.waiting()
		return Own{ExamplePayment: payment, exampleClientToken: r.passed(action)}
	},
	"refundPayment": captured, "refundManagedPayment": captured,
	"adjustPaymentAuthorization": func(r *Reader) Own {
		return Own{ExamplePayment: r.Paid(PlainCard, map[string]any{"paymentMethod": map[string]any{"authorizationType": "ESTIMATED"}})}
	},
	"approvePaymentAttempt": attempted, "abortPaymentAttempt": attempted, "getPaymentAttempt": attempted,
	"getManagedPaymentAttempt": attempted,
	"createPaymentAttempt": func(r *Reader) Own {
		client := r.Session(map[string]any{"approvalMode": "MANUAL"})
		return Own{ExampleToken: r.Card(client, PlainCard), "CLIENT_TOKEN": client}
	},
	"completeRequiredAction": func(r *Reader) Own {
		_, _, action := r.waiting()
		return Own{"CLIENT_TOKEN": action}
	},
	"getCheckoutConfiguration": func(r *Reader) Own { return Own{"CLIENT_TOKEN": r.Session(nil)} },
	"getCheckoutPage":          func(r *Reader) Own { return Own{"CLIENT_TOKEN": r.Session(nil)} },
	"getChallengePage": func(r *Reader) Own {
		_, _, action := r.waiting()
		return Own{"CLIENT_TOKEN": action}
	},
	"createCheckoutPayment": func(r *Reader) Own {
		client := r.Session(nil)
		return Own{ExampleToken: r.Card(client, PlainCard), "CLIENT_TOKEN": client}
	},
	"getCheckoutPayment": func(r *Reader) Own {
		payment, client, _ := r.waiting()
		return Own{ExamplePayment: payment, "CLIENT_TOKEN": client}
	},
	"resumeCheckoutPayment": func(r *Reader) Own {
		payment, client, action := r.waiting()
		return Own{ExamplePayment: payment, "CLIENT_TOKEN": client, exampleClientToken: r.passed(action)}
	},
	"revokeApiKey": func(r *Reader) Own {
		return Own{exampleKey: r.Field("POST", "/management/api-keys", r.Headers(), map[string]any{"name": "shop backend", "scopes": []string{"transactions:retrieve"}}, "id")}
	},
	"createWebhookEndpoint": func(r *Reader) Own { return Own{"https://shop.example/webhooks": r.receiver} },
	"listWebhookEndpoints":  endpoints, "changeWebhookEndpoint": endpoints, "deleteWebhookEndpoint": endpoints, "testWebhookEndpoint": endpoints,
	"createWebhookReplay": endpoints,
	"getWebhookReplay": func(r *Reader) Own {
		mine := r.delivered()
		mine[exampleReplay] = r.Field("POST", "/management/webhook-replays", r.Headers(), map[string]any{"endpointId": mine[exampleEndpoint], "from": "2026-01-01T00:00:00Z", "to": "2040-01-01T00:00:00Z"}, "id")
		return mine
	},
	"listWebhookDeliveries": (*Reader).delivered, "listDeliveryRecords": (*Reader).delivered, "getWebhookDelivery": (*Reader).delivered, "resendWebhookDelivery": (*Reader).delivered,
	"listDisputes": disputed, "getDispute": disputed,
	"search":       func(r *Reader) Own { return Own{ExamplePayment: r.Paid(PlainCard, nil)} },
	"listAuditLog": endpoints,
	"changeUser":   user("grace@shop.example"), "removeUser": user("alan@shop.example"),
	"deleteWebhookListener": listens, "answerWebhookListener": (*Reader).listened,
	"streamWebhookListener": func(r *Reader) Own {
		mine := listens(r)
		r.meanwhile("POST", "/management/webhook-endpoints/"+mine[exampleListener]+"/test")
		return mine
	},
	"streamRequestLog": func(r *Reader) Own {
		r.meanwhile("GET", "/payments?limit=1")
		return Own{}
	},
	"listWorkflowVersions": func(r *Reader) Own {
		workflow := r.workflow()
		r.Must(r.T, "PUT", "/management/workflows/"+workflow, r.Headers(), smallOrders("payment.amount <= 200"))
		return Own{exampleWorkflow: workflow}
	},
	"eraseGuest":    func(r *Reader) Own { return Own{ExamplePayment: r.Paid(PlainCard, map[string]any{"customerId": nil})} },
	"eraseCustomer": ofCustomer, "getCustomer": ofCustomer, "getSettings": unbranded, "changeSettings": unbranded,
	"getReconciliationRun": func(r *Reader) Own {
		return Own{exampleComparison: r.Field("POST", "/management/reconciliation-runs", r.Headers(), map[string]any{"processor": "ADYEN"}, "id")}
	},
	"getCheckoutLogo": func(r *Reader) Own {
		r.Must(r.T, "PATCH", "/management/settings", r.Headers(), map[string]any{"logo": exampleLogo})
		got := r.Must(r.T, "GET", "/checkout?clientToken="+r.Session(nil), nil, nil)
		_, address, _ := strings.Cut(string(got.Body), "/checkout/logos/")
		account, rest, _ := strings.Cut(address, "/")
		file, _, _ := strings.Cut(rest, `"`)
		return Own{"bpDk3QxTzR7wLm2V": account, "5feceb66ffc86f38.png": file}
	},
}

func ofCustomer(r *Reader) Own {
	return Own{ExamplePayment: r.Paid(PlainCard, map[string]any{"customer": map[string]any{"email": "ada@example.com"}})}
}

// unbranded takes the account's logo away: an example of settings has none.
func unbranded(r *Reader) Own {
	r.Must(r.T, "PATCH", "/management/settings", r.Headers(), map[string]any{"logo": nil})
	return Own{}
}

// exampleLogo is a PNG file of one pixel.
const exampleLogo = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func attempted(r *Reader) Own {
	attempt, client := r.Attempt()
	return Own{exampleAttempt: attempt, "CLIENT_TOKEN": client}
}

func endpoints(r *Reader) Own { return Own{exampleEndpoint: r.endpoint()} }

func listens(r *Reader) Own {
	return Own{exampleListener: r.Field("POST", "/management/webhook-listeners", r.Headers(), map[string]any{"description": "my machine"}, "id")}
}

func captured(r *Reader) Own { return Own{ExamplePayment: r.Captured()} }

// user adds a dashboard user with an address.
func user(email string) func(*Reader) Own {
	return func(r *Reader) Own {
		return Own{exampleUser: r.Field("POST", "/management/users", r.Headers(), map[string]any{"email": email, "role": "operator"}, "id")}
	}
}

func disputed(r *Reader) Own {
	payment := r.Paid("4000000000000259", nil)
	r.Must(r.T, "POST", "/payments/"+payment+"/capture", r.Headers(), nil)
	return Own{ExamplePayment: payment, ExampleDispute: r.eventually("/management/disputes?paymentId="+payment, "id")}
}

// Given returns the values for an example: those of its operation, or a payment, a workflow, or an
// object of its collection.
func (r *Reader) Given(operation, path string) Own {
	r.T.Helper()
	switch make := given[operation]; {
	case make != nil:
		return make(r)
	case strings.Contains(path, "/payments") || strings.HasPrefix(path, "/events"):
		return Own{ExamplePayment: r.Paid(PlainCard, nil)}
	case strings.HasPrefix(path, "/management/workflows"):
		return Own{exampleWorkflow: r.workflow()}
	default:
		return Own{}
	}
}

// made has the field of an answer that names the new object, with the example of its id, by
// operationId.
var made = map[string][2]string{
	"createPayment": {"id", ExamplePayment}, "createCheckoutPayment": {"id", ExamplePayment}, "approvePaymentAttempt": {"paymentId", ExamplePayment},
	"createPaymentInstrument": {"token", ExampleToken}, "createPaymentAttempt": {"currentAttempt.id", exampleAttempt},
	"createApiKey": {"id", exampleKey}, "createWebhookEndpoint": {"id", exampleEndpoint}, "createWorkflow": {"id", exampleWorkflow},
	"createUser": {"id", exampleUser}, "createWebhookListener": {"id", exampleListener}, "startReconciliationRun": {"id", exampleComparison},
}

// Learn adds the id of the object that a call has made.
func (o Own) Learn(t *testing.T, operation, body string) {
	t.Helper()
	object, is := made[operation]
	if !is {
		return
	}
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		t.Fatal(err)
	}
	if id := valueAt(value, object[0]); id != "" {
		o[object[1]] = id
	}
}

// valueAt returns a text in JSON, "a.b" being a field of an object; "" if there is none.
func valueAt(value any, name string) string {
	for part := range strings.SplitSeq(name, ".") {
		fields, _ := value.(map[string]any)
		value = fields[part]
	}
	text, _ := value.(string)
	return text
}

// Anonymous replaces the values of this run, and secrets, by the examples' values.
func (r *Reader) Anonymous(body string, mine Own) string {
	for example, value := range mine {
		if len(value) > 8 && !strings.HasPrefix(value, "http") {
			body = strings.ReplaceAll(body, value, cmp.Or(map[string]string{"CLIENT_TOKEN": exampleClientToken}[example], example))
		}
	}
	body = strings.ReplaceAll(body, r.receiver, "https://shop.example/webhooks")
	body = strings.ReplaceAll(body, strings.TrimSuffix(r.app.Ready().API, "/"), "http://127.0.0.1:8080")
	body = strings.ReplaceAll(body, string(r.app.Credentials.AccountID), "bpDk3QxTzR7wLm2V")
	for _, m := range secretLike {
		body = m.pattern.ReplaceAllString(body, m.example)
	}
	return body
}

var secretLike = []struct {
	pattern *regexp.Regexp
	example string
}{
	{regexp.MustCompile(`eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+`), exampleClientToken},
	{regexp.MustCompile(`plk_sandbox_[0-9A-Za-z]+_[0-9A-Za-z]+`), "plk_sandbox_eyMSNf2pO5Bnk74Y_example"},
	{regexp.MustCompile(`plsec_[0-9A-Za-z]+`), "plsec_example"},
	{regexp.MustCompile(`"password":"[0-9A-Za-z]{24}"`), `"password":"examplePasswordShownOnce"`},
}

// Signed returns the signature of the body in a command, as a processor makes it.
func (r *Reader) Signed(command string) Own {
	r.T.Helper()
	_, body, _ := strings.Cut(command, "-d '")
	return Own{"SIGNATURE": r.app.Processors.Sign(processor.Adyen, []byte(strings.TrimSuffix(body, "'")))}
}
