package conformance

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep/internal/requirements"
)

//go:embed report.html
var page string

// pageTemplate is made when it is used: the command has others, which are to start fast.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(pageFuncs).Parse(page))
})

var pageFuncs = template.FuncMap{
	"clean": oneLine,
	"requirements": func(res Result) (list []requirements.Requirement) {
		for _, id := range append(slices.Clone(res.Case.Requirements), res.Case.Also...) {
			named := slices.Contains(res.Case.Requirements, id) || strings.Contains(res.Seen, "("+id+")")
			if r, ok := requirements.Find(id); ok && named {
				list = append(list, r)
			}
		}
		return list
	},
}

// pageData is what the page shows, and how.
type pageData struct {
	*Report
	Headline, Day, Lasted string
	Groups                []pageGroup
	Timelines             []pageTimeline
}

type pageGroup struct {
	ID, Title string
	Results   []Result
}

type pageTimeline struct {
	timeline
	Played runSummary
}

// WriteHTML writes the report as one page for people: the verdict first, then what is to be mended
// and why. Each picture is described in words as well. The page needs no script and no network.
func (r *Report) WriteHTML(w io.Writer) error {
	d := pageData{Report: r, Day: r.Date.Format(time.DateOnly),
		Lasted: fmt.Sprintf("%.0f seconds", r.Date.Sub(r.Began).Seconds())}
	d.Headline = map[Verdict]string{Pass: "Passed", Fail: "Failed", Inconclusive: "Not proved"}[r.Verdict] + ": " +
		cmp.Or(oneLine(r.Name), "the target") +
		fmt.Sprintf(", %s Level %d", r.Kind, r.Level)
	if r.Partial {
		d.Headline += ", in part"
	}
	for _, g := range []struct {
		verdict   Verdict
		id, title string
	}{{Fail, "failed", "What failed"}, {Inconclusive, "unproved", "What could not be put to the test"},
		{Deviation, "deviations", "Recommendations that are not kept"}} {
		var list []Result
		for _, res := range r.Results {
			if res.Verdict == g.verdict {
				list = append(list, res)
			}
		}
		if len(list) > 0 {
			d.Groups = append(d.Groups, pageGroup{g.id, g.title, list})
		}
	}
	for _, p := range r.plays {
		d.Timelines = append(d.Timelines, pageTimeline{p.drawTimeline(), p})
	}
	return pageTemplate().Execute(w, d)
}
