package page_test

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// dom is a page as a browser understands it.
type dom struct {
	testing.TB
	*html.Node
}

func parse(t testing.TB, page []byte) dom {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return dom{t, root}
}

// all are the elements of a name below this one, in the order of the page.
func (d dom) all(name string) (list []dom) {
	for n := range d.Descendants() {
		if n.Type == html.ElementNode && (n.Data == name || name == "*") {
			list = append(list, dom{d.TB, n})
		}
	}
	return list
}

// one is the only element of that name.
func (d dom) one(name string) dom {
	d.Helper()
	list := d.all(name)
	if len(list) != 1 {
		d.Fatalf("there are %d of %s", len(list), name)
	}
	return list[0]
}

// id is the element with an id.
func (d dom) id(id string) dom {
	d.Helper()
	for _, e := range d.all("*") {
		if e.attr("id") == id {
			return e
		}
	}
	d.Fatalf("nothing has the id %s", id)
	return dom{}
}

// class are the elements that have a class.
func (d dom) class(name string) (list []dom) {
	for _, e := range d.all("*") {
		for _, c := range strings.Fields(e.attr("class")) {
			if c == name {
				list = append(list, e)
			}
		}
	}
	return list
}

func (d dom) attr(name string) string {
	for _, a := range d.Node.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// text is all that is written in it.
func (d dom) text() string {
	var b strings.Builder
	for n := range d.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}

// texts are those of each element.
func texts(list []dom) (all []string) {
	for _, e := range list {
		all = append(all, strings.Join(strings.Fields(e.text()), " "))
	}
	return all
}
