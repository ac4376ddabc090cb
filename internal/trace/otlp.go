package trace

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
)

// What OTLP's JSON is made of: as protobuf's, but ids are in hexadecimal. Numbers
// of 64 bits are texts.
type (
	otlpTraces struct {
		ResourceSpans []otlpResource `json:"resourceSpans"`
	}
	otlpResource struct {
		Resource struct {
			Attributes []otlpAttribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []otlpScope `json:"scopeSpans"`
	}
	otlpScope struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		Parent     string          `json:"parentSpanId,omitempty"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"` // 1 is internal, 2 a server's
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
		Status     *otlpStatus     `json:"status,omitempty"`
	}
	otlpStatus struct {
		Code    int    `json:"code"` // 2 is an error
		Message string `json:"message,omitempty"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		String string `json:"stringValue"`
	}
)

func encode(spans []*Span, version string) []byte {
	var r otlpResource
	r.Resource.Attributes = attributes([][2]string{{"service.name", "forkbox"}, {"service.version", version}})
	scope := otlpScope{Spans: make([]otlpSpan, 0, len(spans))}
	scope.Scope.Name = "forkbox"
	for _, s := range spans {
		scope.Spans = append(scope.Spans, s.otlp())
	}
	r.ScopeSpans = []otlpScope{scope}
	body, _ := json.Marshal(otlpTraces{[]otlpResource{r}}) // of texts and numbers
	return body
}

func (s *Span) otlp() otlpSpan {
	o := otlpSpan{
		TraceID: s.TraceID(), SpanID: hex.EncodeToString(s.id[:]), Name: s.name, Kind: 1,
		Start: strconv.FormatInt(s.began.UnixNano(), 10), End: strconv.FormatInt(s.ended.UnixNano(), 10),
		Attributes: attributes(s.attributes),
	}
	if s.parent != [8]byte{} {
		o.Parent = hex.EncodeToString(s.parent[:])
	}
	if s.server {
		o.Kind = 2
	}
	if s.failed {
		o.Status = &otlpStatus{Code: 2, Message: s.failure}
	}
	return o
}

func attributes(pairs [][2]string) (all []otlpAttribute) {
	for _, p := range pairs {
		all = append(all, otlpAttribute{p[0], otlpValue{p[1]}})
	}
	return all
}
