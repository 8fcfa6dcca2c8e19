#include "polykern/paper/reproduction.h"

#include "polykern/core/error.h"
#include "polykern/paper/beyond.h"
#include "polykern/paper/exhibits.h"
#include "polykern/paper/published_figures.h"
#include "polykern/paper/tables.h"

namespace polykern {
namespace {

FindRun In(const PaperRuns& runs, const PaperData& data) {
  return [&](const Row& row, bool carried) { return runs.Of(data, {row, carried}); };
}

}  // namespace

void WantAll(const std::vector<std::string>& exhibits, const std::vector<PaperData>& data,
             PaperRuns& runs) {
  bool any = false;
  for (const PaperData& one : data) {
    for (const std::string& exhibit : exhibits) {
      if (!Shows(exhibit, one.recipe->name)) continue;
      for (const WantedRun& run : RunsOf(exhibit)) runs.Want(one, run);
      any = true;
    }
  }
  if (!any) {
    throw Error("figure2 does not show uji; name naval, air or wec with " + OptionName("data"));
  }
}

Reproduction Reproduce(const std::vector<std::string>& exhibits, const std::vector<PaperData>& data,
                       const PaperRuns& runs, bool markdown, const std::string& command) {
  Reproduction made;
  std::vector<Comparison> all;
  for (const std::string& exhibit : exhibits) {
    if (exhibit.starts_with("table")) {
      std::vector<Comparison> rows;
      for (const PaperData& one : data) {
        const auto more = Compare(exhibit, one.recipe->name, In(runs, one));
        rows.insert(rows.end(), more.begin(), more.end());
      }
      all.insert(all.end(), rows.begin(), rows.end());
      made.files.push_back({exhibit + ".csv", CsvText(FullTable(exhibit, rows))});
      made.files.push_back({exhibit + ".md", ReadableTable(exhibit, rows, true)});
      made.shown += ReadableTable(exhibit, rows, markdown) + "\n";
      continue;
    }
    if (exhibit == kBeyond) {
      std::vector<BeyondRun> shown;
      for (const PaperData& one : data) {
        const auto more = BeyondRuns(one.recipe->name, In(runs, one));
        shown.insert(shown.end(), more.begin(), more.end());
      }
      made.files.push_back({exhibit + ".csv", CsvText(FullBeyond(shown))});
      made.files.push_back({exhibit + ".md", ReadableBeyond(shown, true)});
      made.shown += ReadableBeyond(shown, markdown) + "\n";
      continue;
    }
    for (const PaperData& one : data) {
      const std::string& name = one.recipe->name;
      if (!Shows(exhibit, name)) continue;
      const Figure figure = MakeFigure(exhibit, name, In(runs, one));
      made.files.push_back({exhibit + "-" + name + ".csv", CsvText(figure.numbers)});
      made.files.push_back({exhibit + "-" + name + ".svg", SvgText(figure.chart)});
    }
  }
  made.files.push_back({"result.json", runs.Json(command, all)});
  return made;
}

}  // namespace polykern
