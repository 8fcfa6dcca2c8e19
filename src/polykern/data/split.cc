#include "polykern/data/split.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/core/text.h"

namespace polykern {
namespace {

constexpr std::size_t kPaperSteps = 500;
constexpr std::size_t kFewClients = 10;

/// How many clients and steps.
struct Shape {
  std::size_t clients;
  std::size_t steps;
};

using Fits = std::function<bool(Shape)>;

std::size_t MostSteps(std::size_t rows, std::size_t clients, const Fits& fits) {
  std::size_t steps = clients == 0 ? 0 : rows / clients;
  while (steps > 0 && !fits({clients, steps})) --steps;
  return steps;
}

std::size_t MostClients(std::size_t rows, std::size_t steps, const Fits& fits) {
  std::size_t clients = steps == 0 ? 0 : rows / steps;
  while (clients > 0 && !fits({clients, steps})) --clients;
  return clients;
}

/// Fills in what the user left open; see SplitOptions. Never 0, even if nothing fits.
Shape ChooseShape(const SplitOptions& options, std::size_t rows, const Fits& fits) {
  Shape shape = {options.clients, options.steps};
  if (shape.clients == 0 && shape.steps == 0) {
    const std::size_t clients = MostClients(rows, kPaperSteps, fits);
    if (clients >= kFewClients) return {clients, kPaperSteps};
    shape.clients = std::min(kFewClients, rows);
  }
  if (shape.steps == 0) shape.steps = MostSteps(rows, shape.clients, fits);
  if (shape.clients == 0) shape.clients = MostClients(rows, shape.steps, fits);
  return {std::max<std::size_t>(1, shape.clients), std::max<std::size_t>(1, shape.steps)};
}

/// The end of the message about too few rows: what would fit.
std::string WhatFits(Shape wanted, std::size_t rows, const Fits& fits) {
  const std::size_t steps = MostSteps(rows, wanted.clients, fits);
  const std::size_t clients = MostClients(rows, wanted.steps, fits);
  std::string text;
  if (steps > 0) {
    text = "at most " + OptionName("steps", std::to_string(steps)) + " fits " +
           std::to_string(wanted.clients) + " clients";
  }
  if (clients > 0) {
    text += std::string(text.empty() ? "" : ", ") + "at most " +
            OptionName("clients", std::to_string(clients)) + " fits " +
            std::to_string(wanted.steps) + " steps";
  }
  return text.empty() ? "choose fewer clients and fewer steps, or give more rows" : text;
}

std::string Text(Shape wanted) {
  return std::to_string(wanted.clients) + " clients x " + std::to_string(wanted.steps) + " steps";
}

/// Step by step, client by client, from each client's list of rows; a shorter list is absent later.
std::vector<std::uint32_t> Transpose(const std::vector<std::vector<std::uint32_t>>& rows_of,
                                     std::size_t steps) {
  std::vector<std::uint32_t> index(steps * rows_of.size(), TableStream::kAbsent);
  for (std::size_t client = 0; client < rows_of.size(); ++client) {
    const std::size_t count = std::min(steps, rows_of[client].size());
    for (std::size_t step = 0; step < count; ++step) {
      index[step * rows_of.size() + client] = rows_of[client][step];
    }
  }
  return index;
}

std::unique_ptr<TableStream> DealIid(std::shared_ptr<const Dataset> data,
                                     const SplitOptions& options) {
  const std::size_t rows = data->rows();
  const Fits fits = [rows](Shape shape) { return shape.steps <= rows / shape.clients; };
  const Shape shape = ChooseShape(options, rows, fits);
  if (!fits(shape)) {
    throw Error(Quoted(data->name) + " has " + std::to_string(rows) + " rows, but " + Text(shape) +
                " need " + std::to_string(shape.clients * shape.steps) + ": " +
                WhatFits(shape, rows, fits));
  }
  std::vector<std::uint32_t> order(rows);
  for (std::size_t i = 0; i < rows; ++i) order[i] = static_cast<std::uint32_t>(i);
  if (options.split == Split::kIid) Random(options.seed, Purpose::kShuffle).Shuffle(order);
  order.resize(shape.clients * shape.steps);
  if (options.split == Split::kRuns) {
    std::vector<std::vector<std::uint32_t>> rows_of(shape.clients);
    for (std::size_t client = 0; client < shape.clients; ++client) {
      const auto run = std::span(order).subspan(client * shape.steps, shape.steps);
      rows_of[client].assign(run.begin(), run.end());
      Random(options.seed, Purpose::kShuffle, 2, client).Shuffle(rows_of[client]);
    }
    order = Transpose(rows_of, shape.steps);
  }
  std::vector<std::uint32_t> site_of(shape.clients, 0);
  return std::make_unique<TableStream>(std::move(data), std::move(order), std::move(site_of),
                                       std::vector<std::string>{"all"});
}

/// Rows that one client takes from its own site and from each other site.
struct Parts {
  std::size_t own;
  std::size_t other;
};

Parts Divide(std::size_t steps, std::size_t sites, double major_share) {
  const auto major =
      static_cast<std::size_t>(std::llround(static_cast<double>(steps) * major_share));
  const std::size_t other = (steps - std::min(major, steps)) / (sites - 1);
  return {steps - other * (sites - 1), other};
}

/// How many of `clients` belong to a site: those k with k * sites / clients == site.
std::size_t ClientsOf(std::size_t site, std::size_t sites, std::size_t clients) {
  const auto first = [&](std::size_t s) { return (s * clients + sites - 1) / sites; };
  return first(site + 1) - first(site);
}

std::size_t Need(std::size_t site, std::size_t sites, Shape shape, double major_share) {
  const Parts parts = Divide(shape.steps, sites, major_share);
  const std::size_t members = ClientsOf(site, sites, shape.clients);
  return members * parts.own + (shape.clients - members) * parts.other;
}

std::unique_ptr<TableStream> DealBySite(std::shared_ptr<const Dataset> data,
                                        const SplitOptions& options) {
  const std::size_t sites = data->site_names.size();
  if (sites < 2) {
    throw Error(Quoted(data->name) + " has a single site, so it cannot be split by site; name a " +
                "site column, give one file for each site, or split iid");
  }
  if (!(options.major_share > 0 && options.major_share <= 1)) {
    throw Error("the share of rows from a client's own site must be above 0 and at most 1");
  }
  std::vector<std::vector<std::uint32_t>> pool(sites);
  for (std::size_t row = 0; row < data->rows(); ++row) {
    pool[data->site[row]].push_back(static_cast<std::uint32_t>(row));
  }
  const auto short_site = [&](Shape shape) {
    std::size_t site = 0;
    while (site < sites && Need(site, sites, shape, options.major_share) <= pool[site].size()) {
      ++site;
    }
    return site;  // `sites` if none is short
  };
  const Fits fits = [&](Shape shape) { return short_site(shape) == sites; };
  const Shape shape = ChooseShape(options, data->rows(), fits);
  if (const std::size_t site = short_site(shape); site < sites) {
    throw Error("site " + Quoted(data->site_names[site]) + " of " + Quoted(data->name) + " has " +
                std::to_string(pool[site].size()) + " rows, but " + Text(shape) + " need " +
                std::to_string(Need(site, sites, shape, options.major_share)) +
                " of it: " + WhatFits(shape, data->rows(), fits));
  }
  // Neighbouring rows go to one client, as the paper's tables show: its own stretch of time.
  std::vector<std::size_t> next(sites, 0);
  const Parts parts = Divide(shape.steps, sites, options.major_share);
  std::vector<std::vector<std::uint32_t>> rows_of(shape.clients);
  std::vector<std::uint32_t> site_of(shape.clients);
  for (std::size_t client = 0; client < shape.clients; ++client) {
    const std::size_t own = client * sites / shape.clients;
    site_of[client] = static_cast<std::uint32_t>(own);
    for (std::size_t site = 0; site < sites; ++site) {
      const std::size_t count = site == own ? parts.own : parts.other;
      const auto taken = std::span(pool[site]).subspan(next[site], count);
      rows_of[client].insert(rows_of[client].end(), taken.begin(), taken.end());
      next[site] += count;
    }
    Random(options.seed, Purpose::kShuffle, 2, client).Shuffle(rows_of[client]);
  }
  std::vector<std::string> names = data->site_names;
  return std::make_unique<TableStream>(std::move(data), Transpose(rows_of, shape.steps),
                                       std::move(site_of), std::move(names));
}

/// Every moment at which one of the first clients has a row, in order.
std::vector<Seconds> TimeAxis(const Dataset& data, const RowOrder& order, std::size_t clients) {
  std::vector<Seconds> axis;
  std::vector<Seconds> merged;
  for (std::size_t client = 0; client < clients; ++client) {
    merged.clear();
    merged.reserve(axis.size());
    auto known = axis.begin();
    for (const std::uint32_t row : order.Of(client)) {
      const Seconds time = data.time[row];
      while (known != axis.end() && *known < time) merged.push_back(*known++);
      if (known != axis.end() && *known == time) ++known;
      merged.push_back(time);
    }
    merged.insert(merged.end(), known, axis.end());
    axis.swap(merged);
  }
  return axis;
}

/// Clients whose clocks differ by seconds would leave a step to each of them.
void CheckDensity(const Dataset& data, std::size_t steps, std::size_t clients) {
  constexpr std::size_t kSparsest = 64;
  if (steps * clients / kSparsest <= data.rows() + kSparsest * clients) return;
  throw Error(Quoted(data.name) + ": its " + std::to_string(clients) +
              " clients hardly ever have a row at the same time (" + std::to_string(data.rows()) +
              " rows at " + std::to_string(steps) +
              " times); round the times to what they have in common, such as the minute");
}

std::vector<std::uint32_t> Align(const Dataset& data, const RowOrder& order,
                                 std::span<const Seconds> axis, std::size_t clients) {
  std::vector<std::uint32_t> index(axis.size() * clients, TableStream::kAbsent);
  for (std::size_t client = 0; client < clients; ++client) {
    std::size_t step = 0;
    for (const std::uint32_t row : order.Of(client)) {
      while (step < axis.size() && axis[step] < data.time[row]) ++step;
      if (step == axis.size()) break;  // fewer steps were asked for
      index[step * clients + client] = row;
    }
  }
  return index;
}

std::vector<std::uint32_t> InTurn(const RowOrder& order, std::size_t steps, std::size_t clients) {
  std::vector<std::uint32_t> index(steps * clients, TableStream::kAbsent);
  for (std::size_t client = 0; client < clients; ++client) {
    const auto rows = order.Of(client);
    for (std::size_t step = 0; step < std::min(steps, rows.size()); ++step) {
      index[step * clients + client] = rows[step];
    }
  }
  return index;
}

std::unique_ptr<TableStream> DealByColumn(std::shared_ptr<const Dataset> data,
                                          const SplitOptions& options) {
  if (data->client.empty()) {
    throw Error(Quoted(data->name) + " has no client column to split by; name one, or split iid");
  }
  const std::size_t all = data->client_names.size();
  const RowOrder made =
      data->order.rows.empty() ? OrderRows(data->client, all, data->time) : RowOrder{};
  const RowOrder& order = made.rows.empty() ? data->order : made;
  if (options.clients > all) {
    throw Error(Quoted(data->name) + " has rows of " + std::to_string(all) + " clients, but " +
                OptionName("clients") + " is " + std::to_string(options.clients) +
                "; choose at most " + std::to_string(all) +
                (options.split == Split::kOrder && data->site_names.size() > 1
                     ? ", or " + OptionName("split", "site") + " for more clients than sites"
                     : ""));
  }
  const std::size_t clients = options.clients > 0 ? options.clients : all;
  std::vector<Seconds> axis;
  std::size_t longest = 0;
  if (data->time.empty()) {
    for (std::size_t k = 0; k < clients; ++k) longest = std::max(longest, order.Of(k).size());
  } else {
    axis = TimeAxis(*data, order, clients);
    longest = axis.size();
    CheckDensity(*data, longest, clients);
  }
  if (options.steps > longest) {
    throw Error((data->time.empty()
                     ? "the longest client of " + Quoted(data->name) + " has " +
                           std::to_string(longest) + " rows"
                     : Quoted(data->name) + " has rows at " + std::to_string(longest) + " times") +
                ", but " + OptionName("steps") + " is " + std::to_string(options.steps) +
                "; choose at most " + std::to_string(longest));
  }
  const std::size_t steps = options.steps > 0 ? options.steps : longest;
  std::vector<std::uint32_t> site_of;
  for (std::size_t k = 0; k < clients; ++k) {
    const auto rows = order.Of(k);  // none of a client that is shorter than it predicts ahead
    site_of.push_back(rows.empty() ? 0 : data->site[rows.front()]);
  }
  std::vector<std::string> names = data->site_names;
  std::vector<std::string> called = data->client_names;
  called.resize(clients);
  if (!axis.empty()) axis.resize(steps);
  std::vector<std::uint32_t> index =
      axis.empty() ? InTurn(order, steps, clients) : Align(*data, order, axis, clients);
  auto stream = std::make_unique<TableStream>(std::move(data), std::move(index), std::move(site_of),
                                              std::move(names));
  stream->SetClientNames(std::move(called));
  stream->SetTimes(std::move(axis));
  return stream;
}

}  // namespace

std::unique_ptr<TableStream> Deal(std::shared_ptr<const Dataset> data,
                                  const SplitOptions& options) {
  assert(data != nullptr && data->rows() > 0);
  const std::size_t rows = data->rows();
  if (options.clients > rows || options.steps > rows) {
    throw Error(Quoted(data->name) + " has " + std::to_string(rows) + " rows, but " +
                (options.clients > rows
                     ? OptionName("clients") + " is " + std::to_string(options.clients)
                     : OptionName("steps") + " is " + std::to_string(options.steps)) +
                ", and no row is used twice; choose at most " + std::to_string(rows));
  }
  switch (options.split) {
    case Split::kIid:
    case Split::kRuns:
      return DealIid(std::move(data), options);
    case Split::kSite:
      return DealBySite(std::move(data), options);
    case Split::kOrder:
    case Split::kColumn:
      break;
  }
  return DealByColumn(std::move(data), options);
}

}  // namespace polykern
