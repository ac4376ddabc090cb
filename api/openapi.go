package api

import _ "embed"

// OpenAPI is the API as an OpenAPI 3.1 document. TestOpenAPI makes it out of the
// table of routes and the types that it names, with their comments:
//
//	UPDATE_DOCS=1 go test ./api
//
//go:embed openapi.json
var OpenAPI []byte
