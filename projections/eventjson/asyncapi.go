package eventjson

import _ "embed"

//go:embed asyncapi.yaml
var asyncapiYAML []byte

// AsyncAPI returns the description of all events in AsyncAPI 3.0, as served at /asyncapi.yaml.
func AsyncAPI() []byte { return asyncapiYAML }
