package api_test

import (
	"encoding"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// object is one of JSON. Keys come out sorted, so that the document is the same
// each time.
type object map[string]any

// schemas makes JSON Schemas of Go types. Each named struct is made once, under
// its name.
type schemas struct {
	named    object
	types    map[string]reflect.Type // that have the names
	comments map[string]string       // of "pkg.Type" and "pkg.Type.Field"
}

func newSchemas(t *testing.T) *schemas {
	s := &schemas{named: object{}, types: map[string]reflect.Type{}, comments: map[string]string{}}
	s.read(t, "..", "forkbox")
	s.read(t, ".", "api")
	return s
}

// read collects the comments of a package's types and fields.
func (s *schemas) read(t *testing.T, dir, pkg string) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	set, files := token.NewFileSet(), []*ast.File{}
	for _, path := range paths {
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if file.Name.Name == pkg && !strings.HasSuffix(path, "_test.go") {
			files = append(files, file)
		}
	}
	parsed, err := doc.NewFromFiles(set, files, pkg, doc.AllDecls)
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range parsed.Types {
		name := pkg + "." + typ.Name
		s.comments[name] = plain(typ.Doc)
		for _, spec := range typ.Decl.Specs {
			body, ok := spec.(*ast.TypeSpec).Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, f := range body.Fields.List {
				for _, id := range f.Names {
					s.comments[name+"."+id.Name] = plain(f.Doc.Text() + " " + f.Comment.Text())
				}
			}
		}
	}
}

// plain is a comment as one line, without the brackets of links.
func plain(text string) string {
	return strings.NewReplacer("[", "", "]", "").Replace(strings.Join(strings.Fields(text), " "))
}

// written are the types that say themselves how they are written.
var written = map[reflect.Type]object{
	reflect.TypeFor[time.Time]():     {"type": "string", "format": "date-time"},
	reflect.TypeFor[time.Duration](): {"type": "integer", "description": "nanoseconds"},
	reflect.TypeFor[[]byte]():        {"type": "string", "contentEncoding": "base64"},
	reflect.TypeFor[forkbox.Strings](): {"type": []string{"array", "null"}, "items": object{"oneOf": []object{
		{"type": "string"},
		{"type": "object", "description": "a text that is not UTF-8", "required": []string{"bytes"}, "properties": object{"bytes": object{"type": "string", "contentEncoding": "base64"}}},
	}}},
	reflect.TypeFor[forkbox.Limits](): {"type": "object", "additionalProperties": object{"type": []string{"number", "string"}},
		"description": "by resource: a number in its unit, processors for cpus, or text such as 512m; -1 is unlimited"},
}

// of is the schema of a type.
func (s *schemas) of(t reflect.Type) object {
	if w, ok := written[t]; ok {
		return w
	}
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return object{"type": "string"}
	}
	if t == reflect.TypeFor[forkbox.Error]() {
		return s.of(reflect.TypeFor[forkbox.ErrorDocument]())
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Struct:
		return s.structOf(t)
	case reflect.Slice, reflect.Array:
		return object{"type": []string{"array", "null"}, "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": []string{"object", "null"}, "additionalProperties": s.of(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Interface:
		return object{}
	}
	return object{"type": "integer"}
}

func (s *schemas) structOf(t reflect.Type) object {
	if t.Name() == "" {
		return s.body(t)
	}
	if other, ok := s.types[t.Name()]; ok && other != t {
		panic(t.String() + " and " + other.String() + " would have one name")
	} else if !ok {
		s.types[t.Name()] = t // first, for types that contain themselves
		body := s.body(t)
		if text := s.comments[t.String()]; text != "" {
			body["description"] = text
		}
		s.named[t.Name()] = body
	}
	return object{"$ref": "#/components/schemas/" + t.Name()}
}

// body is a struct's, with the fields of those that it embeds.
func (s *schemas) body(t reflect.Type) object {
	fields, required := object{}, []string{}
	s.addFields(t, false, fields, &required)
	body := object{"type": "object", "properties": fields}
	if len(required) > 0 {
		body["required"] = required
	}
	return body
}

func (s *schemas) addFields(t reflect.Type, optional bool, fields object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && name == "":
			inner, maybe := f.Type, optional
			if inner.Kind() == reflect.Pointer {
				inner, maybe = inner.Elem(), true // of one that is nil there is nothing
			}
			s.addFields(inner, maybe, fields, required)
			continue
		case name == "":
			name = f.Name
		}
		field := s.of(f.Type)
		if text := s.comments[t.String()+"."+f.Name]; text != "" {
			field = describe(field, text)
		}
		fields[name] = field
		if !optional && !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}

func describe(schema object, text string) object {
	with := object{}
	for k, v := range schema {
		with[k] = v
	}
	if own, ok := with["description"].(string); ok {
		text += "; " + own
	}
	with["description"] = text
	return with
}
