package accountpages

import (
	"cmp"
	"strings"

	"payledger/httpapi/dashboard/frame"
)

type actionGroup struct {
	Name    string
	Actions []actionName
}

type actionName struct{ Type, Text string }

var actions = []actionGroup{
	{"Users", []actionName{
		{"account.user_added", "User added"}, {"account.user_role_changed", "Role of a user changed"}, {"account.user_removed", "User removed"},
		{"account.user_signed_in", "Signed in"}, {"account.user_signed_out", "Signed out"}, {"account.user_sign_in_failed", "Sign-in failed"},
		{"account.user_locked", "Codes of new devices locked after failures"}, {"account.user_password_changed", "Password changed"},
		{"account.user_password_reset", "New password made"}, {"account.user_totp_begun", "Codes from an app prepared"},
		{"account.user_totp_enabled", "Codes from an app switched on"}, {"account.user_totp_disabled", "Codes from an app switched off"},
	}},
	{"API keys and secrets", []actionName{
		{"account.api_key_created", "API key made"}, {"account.api_key_revoked", "API key revoked"},
		{"account.signing_secret_rotated", "Signing secret rotated"},
		{"account.analytics_user_created", "Analytics user made"}, {"account.analytics_user_removed", "Analytics user removed"},
	}},
	{"Webhooks", []actionName{
		{"account.endpoint_created", "Webhook endpoint made"}, {"account.endpoint_changed", "Webhook endpoint changed"},
		{"account.endpoint_deleted", "Webhook endpoint deleted"}, {"webhook.resend_requested", "Webhook sent again"},
		{"webhook.replay_requested", "Replay of webhooks started"},
	}},
	{"Settings", []actionName{
		{"account.created", "Account made"}, {"account.settings_changed", "Settings changed"}, {"account.processor_changed", "Processor changed"},
		{"account.routing_changed", "Routing changed"},
	}},
	{"Workflows", []actionName{
		{"workflow.created", "Workflow made"}, {"workflow.changed", "Workflow changed"}, {"workflow.enabled", "Workflow enabled"},
		{"workflow.disabled", "Workflow disabled"},
	}},
	{"Payments and customers", []actionName{
		{"payment.capture_requested", "Capture requested"}, {"payment.refund_requested", "Refund requested"},
		{"payment.void_requested", "Cancel requested"}, {"attempt.approved", "Payment attempt approved"}, {"attempt.aborted", "Payment attempt aborted"}, {"person.erased", "Personal data erased"},
	}},
}

// wordsOf returns the words of a type of events; "" for a type that is not in the filter.
func wordsOf(kind string) string {
	for _, g := range actions {
		for _, a := range g.Actions {
			if a.Type == kind {
				return a.Text
			}
		}
	}
	return ""
}

// Text returns the words of the action.
func (c change) Text() string { return cmp.Or(wordsOf(c.Action), frame.Plain(c.Action)) }

// Kind returns the name of the changed object's kind, for people.
func (c change) Kind() string { return strings.Replace(frame.Plain(c.What.Kind), "Api", "API", 1) }
