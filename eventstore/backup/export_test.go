package backup

// Stepped makes a run call step after each of its steps. An error ends the run there, as a kill
// does.
func (c *Config) Stepped(step func(string) error) { c.stepped = step }
