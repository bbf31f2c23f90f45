package processorpages

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/httpapi/dashboard/frame"
	"payledger/httpapi/dashboard/homepages"
)

type ruleRow struct {
	account.Rule
	Place      int  // from 1
	Stopped    bool // none of its processors takes payments: those that it matches are refused
	Conditions []condition
	First      bool
	Last       bool
}

// connected is a merchant account with the state of the connection to its processor.
type connected struct {
	account.Processor
	Connection      processor.ConnectionState
	ConnectionSince *time.Time
	UnfitAnswers    int
}

type overviewView struct {
	frame.Form  // of the question
	Change      bool
	Mark        string
	Processors  []connected
	Rules       []ruleRow
	Default     []processor.Name
	Networks    []string
	Asked       bool
	Answer      *preview
	Amount      domain.Amount
	Currency    domain.Currency
	NoneEnabled bool
	Stopped     []account.RouteList // that refuse payments, although a processor is enabled
	Failing     string              // the sentence about the processors that fail today; "": none does
}

// takes reports whether the account's new payments may go to a processor.
func (c connected) takes() bool { return c.Enabled && c.Connection != processor.NoAddress }

// StoppedDefault reports whether the default list refuses payments.
func (o overviewView) StoppedDefault() bool {
	return slices.ContainsFunc(o.Stopped, func(l account.RouteList) bool { return l.Place == 0 })
}

// taking returns the test whether new payments may go to a processor of a list of them, without one
// of them; "" for none.
func taking(all []connected, without processor.Name) func(processor.Name) bool {
	return func(name processor.Name) bool {
		return name != without && slices.ContainsFunc(all, func(c connected) bool { return c.Name == name && c.takes() })
	}
}

type preview struct {
	DecidedBy  string
	Rule       string
	Processors []account.Processor
	Disabled   []processor.Name
	NoAddress  []processor.Name
	Rules      []struct {
		Name    string
		Matches bool
		Fails   string
	}
}

var failed = map[string]string{
	"currencyCode": "the currency is another one", "network": "the card network is another one", "countryCode": "the order's country is another one",
	"minAmount": "the amount is too small", "maxAmount": "the amount is too large", "metadata": "the metadata differs",
}

// Why says why a rule does not match.
func (preview) Why(fails string) string { return failed[fails] }

func overview(v *frame.Visit) error {
	out := overviewView{Form: frame.Form{Values: v.Request.URL.Query()}}
	return out.show(v, http.StatusOK)
}

func (o overviewView) show(v *frame.Visit, status int) error {
	var list struct{ Data []connected }
	if err := v.Get(apiProcessors, nil, &list); err != nil {
		return err
	}
	rules, err := readRouting(v)
	if err != nil {
		return err
	}
	o.Mark = rules.mark()
	o.Change, o.Processors, o.Default, o.Networks = v.Admin(), list.Data, rules.Default, domain.Enum("disputeNetwork")
	o.NoneEnabled = true
	for _, p := range list.Data {
		o.NoneEnabled = o.NoneEnabled && !p.Enabled
	}
	if !o.NoneEnabled {
		o.Stopped = account.Routing(rules).Stopped(taking(list.Data, ""))
	}
	for i, r := range rules.Rules {
		stopped := slices.ContainsFunc(o.Stopped, func(l account.RouteList) bool { return l.Place == i+1 })
		o.Rules = append(o.Rules, ruleRow{r, i + 1, stopped, conditionsOf(r.When), i == 0, i == len(rules.Rules)-1})
	}
	if o.Failing, err = homepages.Failing(v, taking(list.Data, "")); err != nil {
		return err
	}
	if o.Asked = v.Request.URL.Query().Has("currency"); o.Asked {
		if err := o.ask(v); err != nil {
			return err
		}
		if !o.Sound() {
			status = http.StatusUnprocessableEntity
		}
	}
	return v.Show(frame.Page{Name: "processors", Title: "Processors and routing", Nav: pathProcessors, Status: status, Data: o})
}

func (o *overviewView) ask(v *frame.Visit) error {
	o.Currency = domain.Currency(strings.ToUpper(o.Text("currency")))
	body := map[string]any{"currencyCode": o.Currency}
	if !o.Currency.Known() {
		o.Fault("currency", "Write the code of the currency, as in EUR.")
	} else if amount, err := frame.ParseAmount(o.Text("amount"), o.Currency); err != nil {
		o.Fault("amount", err.Error())
	} else {
		o.Amount, body["amount"] = amount, amount
	}
	if network := o.Text("network"); network != "" {
		body["network"] = network
	}
	if country := strings.ToUpper(o.Text("country")); country != "" {
		body["countryCode"] = country
	}
	metadata, err := parseMetadata(o.Values.Get("metadata"))
	if err != nil {
		o.Fault("metadata", err.Error())
	}
	if len(metadata) > 0 {
		body["metadata"] = metadata
	}
	if !o.Sound() {
		return nil
	}
	var answer preview
	if err := v.Send(http.MethodPost, apiPreview, body, "", &answer); err != nil {
		return o.Refused(err, "metadata")
	}
	o.Answer = &answer
	return nil
}
