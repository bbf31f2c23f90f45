package eventjson_test

import "payledger/projections/eventjson"

var info = node{
	{"title", "payledger events"},
	{"version", "1.0.0"},
	{"description", "Every event of a merchant's account: once, in one order, from the first. No event has personal data or secrets; " +
		"amounts are integers in minor units of their currency, times are in UTC. GET /events (openapi.yaml) gives the same events in pages."},
}

var servers = node{
	{"api", node{
		{"host", "{address}"}, {"protocol", "http"}, {"description", "The API (serve --listen)."},
		{"variables", node{{"address", node{{"default", "127.0.0.1:8080"}}}}},
		{"security", list{ref("securitySchemes", "apiKey")}},
	}},
	{"analytics", node{
		{"host", "{address}"}, {"protocol", "nats"}, {"description", "The NATS server of the stream EVENTS (serve --nats-listen)."},
		{"variables", node{{"address", node{{"default", "127.0.0.1:4222"}}}}},
		{"security", list{ref("securitySchemes", "credentials")}},
	}},
}

var securitySchemes = node{
	{"apiKey", node{{"type", "httpApiKey"}, {"in", "header"}, {"name", "X-API-KEY"}, {"description", "A key with the scope events:read."}}},
	{"credentials", node{{"type", "asymmetricEncryption"}, {"description", "A NATS credentials file, from payledger analytics-user NAME. It reads the events of one account."}}},
}

// channels returns the channels. messages has the messages of all event types.
func channels(messages node) node {
	return node{
		{"events", node{
			{"address", "events.{accountId}.{type}"},
			{"title", "The stream EVENTS"},
			{"description", "One event a message in the JetStream stream EVENTS; its sequence is the event's position. Messages older than serve --events-retention are gone; read such events over HTTP. Read with a pull consumer or an ordered one."},
			{"servers", list{node{{"$ref", "#/servers/analytics"}}}},
			{"parameters", node{
				{"accountId", node{{"description", "The merchant account; - for an event of the whole log."}}},
				{"type", node{{"description", "The event type. It has two tokens, for example payment.captured."}, {"enum", eventTypes}}},
			}},
			{"messages", messages},
		}},
		{"eventStream", node{
			{"address", "/events/stream"},
			{"title", "Server-sent events"},
			{"description", "The events behind a position, and every further one within a second. The header Last-Event-ID, which clients send when they connect again, takes the place of after."},
			{"servers", list{node{{"$ref", "#/servers/api"}}}},
			{"messages", node{{"serverSentEvent", ref("messages", "serverSentEvent")}}},
		}},
	}
}

var operations = node{
	{"publishEvents", node{
		{"action", "send"},
		{"channel", node{{"$ref", "#/channels/events"}}},
		{"summary", "Publish every event of the log, in the order of positions"},
	}},
	{"streamEvents", node{
		{"action", "send"},
		{"channel", node{{"$ref", "#/channels/eventStream"}}},
		{"summary", "Follow the events of the account over HTTP"},
		{"bindings", node{{"http", node{
			{"method", "GET"},
			{"query", node{{"type", "object"}, {"properties", node{
				{"after", node{{"type", "integer"}, {"minimum", 0}, {"description", "begin behind this position"}}},
				{"types", node{{"type", "string"}, {"description", "only these types, with commas between"}}},
				{"paymentId", node{{"type", "string"}, {"description", "only the events of this payment"}}},
			}}}},
		}}}},
	}},
}

// cloudEvent describes the headers of a message: the binary mode of the CloudEvents binding for
// NATS.
var cloudEvent = node{{"contentType", "application/json"}, {"headers", node{
	{"type", "object"},
	{"required", list{"ce-specversion", "ce-id", "ce-type", "ce-source", "ce-subject", "ce-time", "ce-dataschema", "content-type", "Ledger-Position", "Ledger-Revision", "Ledger-Hash"}},
	{"properties", node{
		{"ce-specversion", node{{"type", "string"}, {"enum", list{"1.0"}}}},
		{"ce-id", node{{"type", "string"}, {"format", "uuid"}}},
		{"ce-type", node{{"type", "string"}, {"enum", eventTypes}}},
		{"ce-source", node{{"type", "string"}, {"enum", list{"/payledger"}}}},
		{"ce-subject", node{{"type", "string"}, {"description", "the event's aggregate: account, kind and id"}}},
		{"ce-time", node{{"type", "string"}, {"format", "date-time"}}},
		{"ce-dataschema", node{{"type", "string"}, {"pattern", "^urn:payledger:event:1:[a-z_]+\\.[a-z_]+$"}, {"description", "ends with the name of the body's schema in components.schemas"}}},
		{"content-type", node{{"type", "string"}, {"enum", list{"application/json"}}}},
		{"Ledger-Position", node{{"type", "string"}, {"pattern", "^[1-9][0-9]*$"}, {"description", "the message's sequence"}}},
		{"Ledger-Revision", node{{"type", "string"}, {"pattern", "^[1-9][0-9]*$"}}},
		{"Ledger-Hash", node{{"type", "string"}, {"pattern", "^[0-9a-f]{64}$"}}},
	}},
}}}

// eventTypes are the names of all event types.
var eventTypes = texts(eventjson.Types())

// envelope has the schemas of the fields that every event has.
var envelope = map[string]node{
	"Position": {{"type", "integer"}, {"minimum", 1}, {"description", "Place in the log over all accounts, from 1. Positions of one account have gaps."}},
	"EventId":  {{"type", "string"}, {"format", "uuid"}},
	"Revision": {{"type", "integer"}, {"minimum", 1}, {"description", "Place among the aggregate's events, from 1, without a gap."}},
	"Actor":    {{"type", "string"}, {"description", "Who decided, for example api_key:ID, client_token:FINGERPRINT, processor:NAME, process:NAME or workflow:ID."}},
	"Hash":     {{"type", "string"}, {"pattern", "^[0-9a-f]{64}$"}, {"description", "The event's link of the hash chain, SHA-256."}},
}
