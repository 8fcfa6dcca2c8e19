#include "bench/bench_report.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "polykern/core/version.h"
#include "polykern/results/text_table.h"

namespace polykern {
namespace {

using Cells = std::vector<std::string>;
using Json = nlohmann::ordered_json;

/// Three digits that matter.
std::string Short(double value) {
  return Fixed(value, value < 10 ? 2 : value < 100 ? 1 : 0);
}

std::string RoundsPerSecond(double microseconds) {
  return Fixed(std::round(1e6 / microseconds / 100) * 100, 0);
}

std::string MarkdownTable(const Cells& header, const std::vector<Cells>& rows) {
  std::string text;
  const auto line = [&](const Cells& cells) {
    for (const std::string& cell : cells) text += "| " + cell + " ";
    text += "|\n";
  };
  line(header);
  line(Cells(header.size(), "---"));
  for (const Cells& row : rows) line(row);
  return text;
}

std::string Table(const Cells& header, const std::vector<Cells>& rows, BenchFormat format) {
  return format == BenchFormat::kMarkdown ? MarkdownTable(header, rows) : FormatTable(header, rows);
}

double BestFlops(const BenchReport& report) {
  double best = std::numeric_limits<double>::infinity();
  for (const BenchRow& row : report.rows) best = std::min(best, row.times.seconds_per_flop);
  return 1 / best;
}

double BestSinCos(const BenchReport& report) {
  double best = std::numeric_limits<double>::infinity();
  for (const BenchRow& row : report.rows) best = std::min(best, row.times.sincos_seconds);
  return best;
}

double Floor(const BenchRow& row) {
  return row.times.Floor(row.setting, static_cast<double>(row.setting.dimension));
}

double Gflops(const BenchRow& row) {
  return UsefulFlops(row.setting, static_cast<double>(row.setting.dimension)) /
         row.times.one_thread / 1e3;
}

/// A line for each setting.
std::string SettingsTable(const BenchReport& report, BenchFormat format) {
  Cells header = {"setting",
                  "d",
                  "N",
                  "D",
                  "M",
                  "K",
                  "us/sample",
                  "all threads",
                  "features",
                  "GFLOP/s",
                  "floor",
                  "ours/floor",
                  "features/floor",
                  "client-rounds/s"};
  if (report.rows.front().numpy) header.insert(header.end(), {"NumPy us", "NumPy/ours"});
  std::vector<Cells> lines;
  for (const BenchRow& row : report.rows) {
    const BenchSetting& s = row.setting;
    const double floor = Floor(row);
    lines.push_back({s.name, std::to_string(s.dimension), std::to_string(s.kernels),
                     std::to_string(s.features), std::to_string(s.kernels_per_upload),
                     std::to_string(s.clients), Short(row.times.one_thread),
                     Short(row.times.all_threads), Short(row.times.features), Short(Gflops(row)),
                     Short(floor), Short(row.times.one_thread / floor),
                     Short(row.times.features / floor), RoundsPerSecond(row.times.all_threads)});
    if (row.numpy) {
      lines.back().push_back(Fixed(row.numpy->microseconds, 0));
      lines.back().push_back(Fixed(row.numpy->microseconds / row.times.one_thread, 0));
    }
  }
  return Table(header, lines, format);
}

/// What the columns mean, and what else was measured.
std::string SettingsNotes(const BenchReport& report) {
  std::string text =
      "This machine: " + Short(BestFlops(report) / 1e9) + " GFLOP/s at most on one core, " +
      Fixed(1e9 * BestSinCos(report), 3) + " ns for a sine and its cosine, " + report.target +
      ", " + Count(report.threads, "thread") + ".\n\n" +
      "us/sample: one client's whole round on one thread (predict, learn, upload, aggregate); "
      "all threads: wall time over samples; features: the part of us/sample that computes "
      "features and per-kernel predictions.\n"
      "GFLOP/s counts N D (2d + 4) flops a sample, the angles and theta . z; sines, cosines "
      "and everything else count nothing.\n"
      "floor: N D ((2d + 4) / peak + time of a sine and cosine), both measured between the "
      "slices of ours; each figure is the best of slices of 5 ms.\n";
  for (const BenchRow& row : report.rows) {
    if (row.nonzero_inputs > 0.5 * static_cast<double>(row.setting.dimension)) continue;
    text += row.setting.name + ": " + Fixed(row.nonzero_inputs, 1) + " of " +
            std::to_string(row.setting.dimension) + " inputs are not 0; counting only these, the " +
            "floor is " + Short(row.times.Floor(row.setting, row.nonzero_inputs)) + " us.\n";
  }
  if (report.rows.front().numpy) {
    text +=
        "NumPy: bench/pof_mkl_numpy.py on one thread, same rows, frequencies and draws. MSE of "
        "NumPy and ours:";
    for (const BenchRow& row : report.rows) {
      text += " " + row.setting.name + " " + Fixed(row.numpy->mse, 6) + " " +
              Fixed(row.numpy->engine_mse, 6) + (&row == &report.rows.back() ? ".\n" : ",");
    }
  }
  text +=
      "For scale, published client-rounds per second of federated frameworks on small models "
      "(logistic regression on MNIST): FLUTE 5-12, Flower 0.2-0.6. These run processes and "
      "networks, in their own set-ups on other machines; the simulator here does neither.\n";
  return text;
}

std::string SettingsText(const BenchReport& report, BenchFormat format) {
  if (report.rows.empty()) return {};
  return SettingsTable(report, format) + "\n" + SettingsNotes(report);
}

std::string GrowthText(const BenchReport& report, BenchFormat format) {
  if (report.growth.empty()) return {};
  const BenchSetting& base = GrowthBase();
  std::string text =
      "Growth around d = " + std::to_string(base.dimension) +
      ", N = " + std::to_string(base.kernels) + ", D = " + std::to_string(base.features) +
      ", M = " + std::to_string(base.kernels_per_upload) + ", K = " + std::to_string(base.clients) +
      "; one thread; memory beyond the data, as allocated.\n";
  for (const GrowthTable& table : report.growth) {
    std::vector<Cells> lines;
    for (const GrowthPoint& p : table.points) {
      lines.push_back({std::to_string(p.value), Short(p.microseconds),
                       Fixed(p.microseconds / p.base_microseconds, 2), Bytes(p.bytes),
                       Fixed(p.bytes_per_client, 0)});
    }
    text += "\n" + Table({table.parameter, "us/sample", "to the base", "memory", "bytes/client"},
                         lines, format);
  }
  return text;
}

std::string FleetText(const BenchReport& report, BenchFormat format) {
  if (!report.fleet) return {};
  const FleetTimes& f = *report.fleet;
  const auto line = [](std::size_t clients, double microseconds) {
    return Cells{std::to_string(clients), Fixed(microseconds, 3), RoundsPerSecond(microseconds)};
  };
  return Table({"clients", "us/client-step", "client-steps/s"},
               {line(FleetTimes::kFewClients, f.few_microseconds), line(f.clients, f.microseconds)},
               format) +
         "\nRatio " + Fixed(f.microseconds / f.few_microseconds, 3) + "; " +
         Fixed(f.bytes_per_client, 0) + " bytes per client at the peak of resident memory.\n" +
         "Synthetic fleet, d = 14, N = 51, D = 20, M = 25, " + Count(f.steps, "step") + ", " +
         Count(f.threads, "thread") + ", " + report.target + "; making up the samples takes " +
         Fixed(100 * f.reading_microseconds / f.microseconds, 0) + " % of the time (" +
         Fixed(f.reading_microseconds, 3) + " us); nothing of them is kept.\n";
}

std::string NewtonText(const BenchReport& report, BenchFormat format) {
  if (!report.newton) return {};
  const NewtonTimes& n = *report.newton;
  return Table({"pof-newton", "clients us", "server us", "floor us", "server/floor",
                "all threads us", "threads gain", "by default us", "default/floor"},
               {{"one step", Short(n.clients), Short(n.server), Short(n.floor),
                 Short(n.server / n.floor), Short(n.all_threads), Short(n.server / n.all_threads),
                 Short(n.usual), Short(n.usual / n.mean_floor)}},
               format) +
         "\nK = " + std::to_string(NewtonTimes::kClients) +
         ", M = " + std::to_string(NewtonTimes::kKernelsPerUpload) +
         ", D = " + std::to_string(NewtonTimes::kFeatures) + ", N = 51; " +
         Short(n.messages_per_kernel) +
         " messages per kernel. clients: all of them on one thread; server: taking the messages in "
         "and solving every kernel (--refresh 0), on one thread; by default: the same with the "
         "default --refresh, mean of " +
         std::to_string(NewtonTimes::kSteps) +
         " steps.\n"
         "floor: per kernel a rank-n update and a Cholesky decomposition, or n Sherman-Morrison "
         "updates, whichever has fewer flops, at the " +
         Short(n.peak / 1e9) + " GFLOP/s that one core can do in double precision.\n";
}

std::string GramText(const BenchReport& report, BenchFormat format) {
  if (!report.gram) return {};
  const GramTimes& g = *report.gram;
  const GramTimes::Line& newton = g.lines.front();
  std::vector<Cells> rows;
  for (const GramTimes::Line& line : g.lines) {
    rows.push_back({line.algorithm, std::to_string(line.clients), Short(line.client_step),
                    Short(line.client_step / newton.client_step), Short(line.message),
                    Short(line.commit), Short(line.Server()),
                    Short(line.Server() / newton.Server())});
  }
  return Table({"algorithm", "clients", "client-step us", "to newton's", "message us", "commit us",
                "server us/step", "to newton's"},
               rows, format) +
         "\nd = " + std::to_string(GramTimes::kDimension) + ", defaults, " +
         Count(g.steps, "step") +
         ", processor time of one thread. client-step: a client predicts, learns and makes its "
         "message; message: the "
         "server checks one and adds it up; commit: it ends a step; server: all messages of a step "
         "and its end.\n";
}

Json RowJson(const BenchRow& row) {
  const BenchSetting& s = row.setting;
  Json json = {{"setting", s.name},
               {"dimension", s.dimension},
               {"kernels", s.kernels},
               {"features", s.features},
               {"kernels_per_upload", s.kernels_per_upload},
               {"clients", s.clients},
               {"nonzero_inputs", row.nonzero_inputs},
               {"microseconds_per_sample", row.times.one_thread},
               {"microseconds_per_sample_all_threads", row.times.all_threads},
               {"microseconds_features", row.times.features},
               {"client_rounds_per_second", 1e6 / row.times.all_threads},
               {"gflops", Gflops(row)},
               {"peak_gflops", 1e-9 / row.times.seconds_per_flop},
               {"sincos_nanoseconds", 1e9 * row.times.sincos_seconds},
               {"floor_microseconds", Floor(row)},
               {"floor_microseconds_nonzero", row.times.Floor(s, row.nonzero_inputs)},
               {"ours_to_floor", row.times.one_thread / Floor(row)},
               {"features_to_floor", row.times.features / Floor(row)}};
  if (row.numpy) {
    json["numpy"] = {{"microseconds_per_sample", row.numpy->microseconds},
                     {"to_ours", row.numpy->microseconds / row.times.one_thread},
                     {"steps", row.numpy->steps},
                     {"mse", row.numpy->mse},
                     {"engine_mse", row.numpy->engine_mse}};
  }
  return json;
}

std::string ReportJson(const BenchReport& report) {
  Json json = {{"polykern", Version()},
               {"machine", {{"target", report.target}, {"threads", report.threads}}}};
  if (!report.rows.empty()) {
    json["machine"]["peak_gflops"] = BestFlops(report) / 1e9;
    json["machine"]["sincos_nanoseconds"] = 1e9 * BestSinCos(report);
  }
  json["settings"] = Json::array();
  for (const BenchRow& row : report.rows) json["settings"].push_back(RowJson(row));
  json["left_out"] = report.left_out;
  for (const GrowthTable& table : report.growth) {
    for (const GrowthPoint& p : table.points) {
      json["growth"][table.parameter].push_back({{"value", p.value},
                                                 {"microseconds_per_sample", p.microseconds},
                                                 {"to_base", p.microseconds / p.base_microseconds},
                                                 {"bytes", p.bytes},
                                                 {"bytes_per_client", p.bytes_per_client}});
    }
  }
  if (report.newton) {
    const NewtonTimes& n = *report.newton;
    json["newton"] = {{"clients", NewtonTimes::kClients},
                      {"kernels_per_upload", NewtonTimes::kKernelsPerUpload},
                      {"features", NewtonTimes::kFeatures},
                      {"clients_microseconds_per_step", n.clients},
                      {"server_microseconds_per_step", n.server},
                      {"floor_microseconds", n.floor},
                      {"server_to_floor", n.server / n.floor},
                      {"server_microseconds_all_threads", n.all_threads},
                      {"default_microseconds_per_step", n.usual},
                      {"default_to_floor", n.usual / n.mean_floor},
                      {"peak_double_gflops", n.peak / 1e9},
                      {"messages_per_kernel", n.messages_per_kernel}};
  }
  if (report.gram) {
    json["gram"] = {{"steps", report.gram->steps}, {"algorithms", Json::array()}};
    for (const GramTimes::Line& line : report.gram->lines) {
      json["gram"]["algorithms"].push_back({{"algorithm", line.algorithm},
                                            {"clients", line.clients},
                                            {"client_microseconds_per_step", line.client_step},
                                            {"message_microseconds", line.message},
                                            {"commit_microseconds", line.commit},
                                            {"server_microseconds_per_step", line.Server()}});
    }
  }
  if (report.fleet) {
    const FleetTimes& f = *report.fleet;
    json["fleet"] = {{"clients", f.clients},
                     {"steps", f.steps},
                     {"microseconds_per_client_step", f.microseconds},
                     {"few_clients", FleetTimes::kFewClients},
                     {"few_microseconds_per_client_step", f.few_microseconds},
                     {"ratio", f.microseconds / f.few_microseconds},
                     {"reading_microseconds", f.reading_microseconds},
                     {"peak_bytes_per_client", f.bytes_per_client}};
  }
  return json.dump(2) + "\n";
}

}  // namespace

std::string FormatReport(const BenchReport& report, BenchFormat format) {
  if (format == BenchFormat::kJson) return ReportJson(report);
  std::string text;
  for (const std::string& part :
       {SettingsText(report, format), NewtonText(report, format), GramText(report, format),
        GrowthText(report, format), FleetText(report, format)}) {
    if (!part.empty()) text += (text.empty() ? "" : "\n") + part;
  }
  for (const std::string& line : report.left_out) text += line + "\n";
  return text;
}

}  // namespace polykern
