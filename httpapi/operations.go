package httpapi

import "payledger/domain"

// getHealth: GET /healthz, the process is up (I1).
func getHealth(*call) (any, error) { return map[string]string{"status": "up"}, nil }

// getReadiness: GET /readyz, 200 only when the store takes appends and the views show all of the log.
func getReadiness(c *call) (any, error) {
	if err := c.api.Ready(c.ctx); err != nil {
		refusal := domain.Refuse(domain.KindUnavailable, domain.ReasonServiceUnavailable, "Not ready: %s.", err)
		refusal.Err = err
		return nil, refusal
	}
	return map[string]string{"status": "ready"}, nil
}

// getOpenAPI: GET /openapi.yaml.
func getOpenAPI(*call) (any, error) {
	return raw{contentType: "application/yaml", body: openapiYAML, shared: true}, nil
}
