#include <algorithm>
#include <ctime>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "console.h"
#include "federation/client_names.h"
#include "federation/federation_options.h"
#include "options.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/net/pki/authority.h"
#include "polykern/results/text_table.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

/// What the commands below pki can be told.
struct PkiOptions {
  std::string folder = "pki";
  std::string name;
  std::vector<std::string> names;  ///< in place of one; @FILE: those in a file
  bool skip_issued = false;
  std::string format = "text";
  InitOptions init;
  IssueOptions issue;
};

void Init(const PkiOptions& options) {
  const CertificateFacts server = InitAuthority(options.folder, options.init);
  const AuthorityPaths paths(options.folder);
  if (!options.init.renew) {
    std::cout << "authority  " << paths.certificate << ", " << paths.key
              << " (keep it secret, and keep a copy)\n";
  }
  std::cout << "server     " << paths.server_certificate << ", " << paths.server_key << " for "
            << Joined(server.hosts) << "; expires " << DateText(server.valid.until) << '\n';
  if (!options.init.renew) {
    std::cout << "next       polykern pki issue NAME"
              << (options.folder == "pki" ? "" : " --dir " + ShellWord(options.folder)) << '\n';
  }
}

/// The names that are to be issued. Throws Error, before anything is, for those that cannot be.
std::vector<std::string> NamesToIssue(const PkiOptions& options) {
  std::vector<std::string> names = ReadClientNames(options.names, "NAME");
  std::set<std::string> issued;
  const std::int64_t now = std::time(nullptr);
  if (!options.issue.renew) {
    for (const IssuedCertificate& entry : ReadAuthority(options.folder).clients) {
      if (StateOf(entry, now) == "good") issued.insert(entry.name);
    }
  }
  std::vector<std::string> known;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) throw Error("'" + name + "' is named twice");
    if (issued.contains(name)) known.push_back(name);
  }
  if (options.skip_issued) {
    std::erase_if(names, [&](const std::string& name) { return issued.contains(name); });
  } else if (!known.empty()) {
    constexpr std::size_t kShown = 5;
    const std::size_t more = known.size() - std::min(known.size(), kShown);
    known.resize(known.size() - more);
    throw Error("valid certificates already exist for " + Joined(known) +
                (more > 0 ? " and " + std::to_string(more) + " more" : "") +
                "; skip them (--skip-issued), or issue new ones (--renew)");
  }
  return names;
}

void IssueMany(PkiOptions options) {
  const std::vector<std::string> names = NamesToIssue(options);
  const std::string folder =
      options.issue.out.empty() ? AuthorityPaths(options.folder).clients : options.issue.out;
  std::int64_t expires = 0;
  for (const std::string& name : names) {
    options.issue.out = folder + "/" + name;
    expires = IssueClient(options.folder, name, options.issue).expires;
  }
  std::cout << "issued     " << Count(names.size(), "client");
  if (!names.empty()) std::cout << ", the last expires " << DateText(expires);
  std::cout << "\nfolders    " << folder
            << "/NAME (copy each to its device; client.key and mask.key are its secrets)\n";
}

void Issue(PkiOptions options) {
  if (options.names.size() > 1 || options.names.front().starts_with('@')) {
    IssueMany(std::move(options));
    return;
  }
  options.name = options.names.front();
  const IssuedCertificate issued = IssueClient(options.folder, options.name, options.issue);
  const std::string folder = options.issue.out.empty()
                                 ? AuthorityPaths(options.folder).Client(options.name)
                                 : options.issue.out;
  std::cout << "issued     " << issued.name << ", serial " << issued.serial << ", expires "
            << DateText(issued.expires) << "\nfolder     " << folder
            << " (copy it to the device; client.key and mask.key are its secrets)\n";
}

void Helper(const PkiOptions& options) {
  const IssuedCertificate issued = IssueHelper(options.folder, options.name, options.issue);
  const std::string folder = options.issue.out.empty()
                                 ? AuthorityPaths(options.folder).Helper(options.name)
                                 : options.issue.out;
  const std::vector<std::string> hosts =
      options.issue.hosts.empty() ? LocalHosts() : options.issue.hosts;
  std::cout << "helper     " << issued.name << ", serial " << issued.serial << ", for "
            << Joined(hosts) << "; expires " << DateText(issued.expires) << "\nfolder     "
            << folder
            << " (give it to the operator of the helper, who should not "
               "be the server's; helper.key and mask.key are its secrets)\n";
}

void Revoke(const PkiOptions& options) {
  const std::size_t count = RevokeClient(options.folder, options.name);
  const std::string list = AuthorityPaths(options.folder).revocations;
  std::cout << (count > 0 ? "revoked    " + options.name + ", " + Count(count, "certificate")
                          : "revoked    " + options.name + ", before")
            << "\nlist       " << list
            << " (servers that read this file notice without a restart)\n";
}

Json AsJson(const std::vector<IssuedCertificate>& certificates, std::int64_t now) {
  Json list = Json::array();
  for (const IssuedCertificate& entry : certificates) {
    list.push_back({{"name", entry.name},
                    {"serial", entry.serial},
                    {"issued", entry.issued},
                    {"expires", entry.expires},
                    {"revoked", entry.revoked ? Json(*entry.revoked) : Json()},
                    {"state", StateOf(entry, now)}});
  }
  return list;
}

void ListAsJson(const AuthorityContents& all, std::int64_t now) {
  std::cout << Json{{"authority",
                     {{"name", all.authority.name},
                      {"serial", all.authority.serial},
                      {"expires", all.authority.valid.until}}},
                    {"server",
                     {{"hosts", all.server.hosts},
                      {"serial", all.server.serial},
                      {"expires", all.server.valid.until}}},
                    {"clients", AsJson(all.clients, now)},
                    {"helpers", AsJson(all.helpers, now)}}
                   .dump(2)
            << '\n';
}

std::string AsTable(const char* whose, const std::vector<IssuedCertificate>& certificates,
                    std::int64_t now) {
  std::vector<std::vector<std::string>> rows;
  for (const IssuedCertificate& entry : certificates) {
    rows.push_back({entry.name, StateOf(entry, now), DateText(entry.issued),
                    DateText(entry.expires), entry.revoked ? DateText(*entry.revoked) : "-",
                    entry.serial});
  }
  return FormatTable({whose, "state", "issued", "expires", "revoked", "serial"}, rows);
}

void ListAsText(const AuthorityContents& all, std::int64_t now) {
  std::cout << all.authority.name << ", expires " << DateText(all.authority.valid.until)
            << "\nserver " << Joined(all.server.hosts) << ", expires "
            << DateText(all.server.valid.until) << "\n\n";
  std::cout << (all.clients.empty() ? "No client yet.\n" : AsTable("client", all.clients, now));
  if (!all.helpers.empty()) std::cout << '\n' << AsTable("helper", all.helpers, now);
}

void List(const PkiOptions& options) {
  const AuthorityContents all = ReadAuthority(options.folder);
  (options.format == "json" ? ListAsJson : ListAsText)(all, std::time(nullptr));
}

}  // namespace

void AddPkiCommand(CLI::App& program) {
  CLI::App& pki = *program.add_subcommand(
      "pki",
      "Manage certificates, which decide who may take part in a federation.\n"
      "Example: polykern pki init --server learn.example.org && polykern pki issue station-7");
  pki.require_subcommand(0, 1);
  const auto add = [&](const char* name, const char* help) {
    CLI::App* command = pki.add_subcommand(name, help);
    auto options = std::make_shared<PkiOptions>();
    AddConfigOption(*command);
    command->add_option("--dir", options->folder, "The authority's folder")->capture_default_str();
    return std::pair(command, options);
  };
  const CLI::Range days(1, 36500);

  const auto [init, init_options] =
      add("init",
          "Make an authority and the server's certificate. An authority is never replaced.\n"
          "Example: polykern pki init --server learn.example.org 192.0.2.7");
  init->add_option(
          "--server", init_options->init.hosts,
          "Names and addresses under which clients reach the server (default: localhost and "
          "this machine's name)")
      ->delimiter(',');
  init->add_flag("--renew", init_options->init.renew,
                 "Keep the authority and server.key, and make a new server.crt");
  init->add_option("--days", init_options->init.days, "How long the authority lasts")
      ->check(days)
      ->capture_default_str();
  init->add_option("--server-days", init_options->init.server_days,
                   "How long the server's certificate lasts")
      ->check(days)
      ->capture_default_str();
  init->callback([o = init_options] {
    LeaveNoCoreFiles();
    Init(*o);
  });

  const auto add_issue_options = [&days](CLI::App* command, IssueOptions& options,
                                         const char* home) {
    command->add_option(
        "--out", options.out,
        "Folder to make (default: " + std::string(home) + "/NAME in the authority's)");
    command
        ->add_option("--days", options.days, "How long it lasts, at most until the authority ends")
        ->check(days)
        ->capture_default_str();
    AddTimeOption(*command, "--valid", options.valid,
                  "The same as a duration, such as 90s, 2m, 12h or 30d, instead of --days")
        .excludes("--days");
    command->add_flag(
        "--renew", options.renew,
        "Issue another certificate to a name that has one; mask.key is kept, or added");
  };
  const auto [issue, issue_options] =
      add("issue",
          "Make one client's folder: ca.crt, client.crt, client.key, mask.key. No other client is "
          "touched.\n"
          "Example: polykern pki issue station-7 --out station-7");
  issue
      ->add_option("NAME", issue_options->names,
                   "The client's name; or several, or @FILE, a file with one name on each line: "
                   "their folders are made in --out")
      ->required();
  issue->add_flag("--skip-issued", issue_options->skip_issued,
                  "Skip names that already have a valid certificate");
  add_issue_options(issue, issue_options->issue, "clients");
  issue->callback([o = issue_options] {
    LeaveNoCoreFiles();
    Issue(*o);
  });

  const auto [helper, helper_options] =
      add("helper",
          "Make the folder of a helper for masked sums: ca.crt, ca.crl, helper.crt, "
          "helper.key, mask.key.\n"
          "Example: polykern pki helper auditor --host helper.example.org --out auditor");
  helper_options->name = "helper";
  helper->add_option("NAME", helper_options->name, "The helper's name")->capture_default_str();
  helper
      ->add_option(
          "--host", helper_options->issue.hosts,
          "Names and addresses under which the server reaches the helper (default: localhost "
          "and this machine's name)")
      ->delimiter(',');
  add_issue_options(helper, helper_options->issue, "helpers");
  helper->callback([o = helper_options] {
    LeaveNoCoreFiles();
    Helper(*o);
  });

  const auto [revoke, revoke_options] =
      add("revoke",
          "Revoke every certificate of a client or helper; servers notice without a restart.\n"
          "Example: polykern pki revoke station-7");
  revoke->add_option("NAME", revoke_options->name, "The client's or helper's name")->required();
  revoke->callback([o = revoke_options] {
    LeaveNoCoreFiles();
    Revoke(*o);
  });

  const auto [list, list_options] =
      add("list", "List every certificate that was issued.\nExample: polykern pki list");
  AddFormatOption(*list, list_options->format);
  list->callback([o = list_options] { List(*o); });
  AddPkiServeCommand(pki);
}

}  // namespace polykern
