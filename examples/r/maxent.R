# What a published model discloses about the people it was fitted on, from R.
#
#   source("maxent.R")
#   maxent_review(model, data, target = "progression", qi = c("age", "sex"), limits = list(max_certain = 0))
#   maxent_export(model, "folder", data)      # the files that `maxent review folder data.csv ...` reads, to carry out
#
# Models: rpart, partykit (ctree, as.party), ranger, randomForest, C5.0, gbm and glm. Base R and jsonlite; the command
# `maxent` has to be installed and on the path, or named: options(maxent.command = "/path/to/maxent").

# One way for each class of model: what is written into the folder, and what the command has to be told beside it.
maxent_exporters <- list(
  rpart = function(model, folder, data) {
    .maxent_csv(model$frame, folder, "frame.csv", row.names = TRUE)
    if (!is.null(model$splits)) .maxent_csv(model$splits, folder, "splits.csv", row.names = TRUE)
    if (!is.null(model$csplit)) .maxent_csv(model$csplit, folder, "csplit.csv")
    .maxent_levels(data, folder, attr(model, "xlevels"))
    list(classes = attr(model, "ylevels"))
  },
  party = function(model, folder, data) {
    before <- options(digits = 17, width = 10000)
    on.exit(options(before))
    .maxent_lines(utils::capture.output(print(model)), folder, "tree.txt")
    list(path = "tree.txt")
  },
  ranger = function(model, folder, data) {
    for (k in seq_len(model$num.trees)) .maxent_csv(ranger::treeInfo(model, k), folder, sprintf("tree%d.csv", k))
    .maxent_levels(data, folder, model$forest$covariate.levels)
    if (!is.null(model$inbag.counts)) .maxent_csv(do.call(cbind, model$inbag.counts), folder, "inbag.csv", row.names = TRUE)
    list()
  },
  randomForest = function(model, folder, data) {
    for (k in seq_len(model$ntree)) {
      .maxent_csv(randomForest::getTree(model, k, labelVar = TRUE), folder, sprintf("tree%d.csv", k))
    }
    .maxent_levels(data, folder, Filter(is.character, model$forest$xlevels))
    if (!is.null(model$inbag)) .maxent_csv(model$inbag, folder, "inbag.csv", row.names = TRUE)
    list(classes = model$classes)
  },
  C5.0 = function(model, folder, data) {
    if (isTRUE(nzchar(model$rules)) || !isTRUE(nzchar(model$tree)) || isTRUE(model$trials[["Actual"]] > 1)) {
      stop("maxent: expected one tree of C5.0, found rules or boosted trees", call. = FALSE)
    }
    .maxent_lines(model$tree, folder, "model.tree")
    .maxent_lines(model$names, folder, "model.names")
    list(path = "model.tree")
  },
  gbm = function(model, folder, data) {
    if (!identical(model$distribution$name, "bernoulli")) {
      stop("maxent: expected a gbm of two classes (distribution \"bernoulli\"), found ", model$distribution$name, call. = FALSE)
    }
    for (k in seq_len(model$n.trees)) {
      .maxent_csv(gbm::pretty.gbm.tree(model, k), folder, sprintf("tree%d.csv", k))
    }
    .maxent_lines(vapply(model$c.splits, paste, "", collapse = ","), folder, "csplits.csv")
    .maxent_levels(data, folder, stats::setNames(model$var.levels, model$var.names)[model$var.type > 0])
    list(
      features = model$var.names, classes = c("0", "1"),
      param = c(base = format(model$initF, digits = 17), rate = format(model$shrinkage, digits = 17))
    )
  },
  glm = function(model, folder, data) {
    coefficients <- coef(summary(model))
    .maxent_csv(coefficients, folder, "coefficients.csv", row.names = TRUE)
    .maxent_levels(data, folder)
    known <- c(binomial = "logistic", poisson = "poisson", gaussian = "linear")
    family <- known[[match.arg(model$family$family, names(known))]]
    # A logistic model is about all levels of the response but the first.
    of <- if (is.factor(model$model[[1]])) levels(model$model[[1]])[2] else "1"
    # The largest gradient where the fit stopped, which its deviance does not bound, with what sums lose to rounding.
    design <- model.matrix(model)
    gradient <- abs(crossprod(design, model$prior.weights * (model$y - model$fitted.values)))
    lost <- 1e-12 * crossprod(abs(design), model$prior.weights * (abs(model$y) + abs(model$fitted.values) + 1))
    stopped <- if (family != "linear") c(tolerance = format(2 * max(gradient + lost), digits = 6))
    param <- c(family = family, stopped, if (family == "logistic") c(of = of))
    list(path = "coefficients.csv", from = "glm-r", param = param)
  }
)

#' Write the files that `maxent` reads of a model. They hold the model, and no person's data beyond what it keeps.
#'
#' `data`: the table that the model was fitted on, for the names of its levels. Returns what the command is told, invisibly.
maxent_export <- function(model, folder, data = NULL) {
  kind <- intersect(class(model), names(maxent_exporters))
  if (length(kind) == 0) {
    stop("maxent: expected a model of ", paste(names(maxent_exporters), collapse = ", "), ", found ",
      paste(class(model), collapse = ", "), call. = FALSE)
  }
  dir.create(folder, showWarnings = FALSE, recursive = TRUE)
  if (length(list.files(folder)) > 0) stop("maxent: expected an empty folder, found files in ", folder, call. = FALSE)
  told <- maxent_exporters[[kind[1]]](model, folder, data)
  told$path <- if (is.null(told$path)) folder else file.path(folder, told$path)
  invisible(told)
}

#' What somebody who holds the quasi-identifiers `qi` can infer about `target` from a published `model`.
#'
#' `data`: the people that it was fitted on. `qi`: columns of theirs that others hold, too; all predictors if it is not
#' given. `limits`: such as list(max_certain = 0, min_k = 10); names and meanings are those of `maxent review`.
#' `arguments`: further words for the command, such as c("--report", "report.html").
#' Prints the verdict, and returns a list: `status`, `verdict` (a row for each limit), `people` (a row for each
#' equivalence class, with P(class)), `unread` (what the model tells that is not compiled), `json` (everything).
maxent_review <- function(model, data, target, qi = NULL, limits = list(), arguments = character()) {
  data <- as.data.frame(data)
  folder <- tempfile("maxent")
  on.exit(unlink(folder, recursive = TRUE))
  told <- maxent_export(model, file.path(folder, "model"), data)
  if (!target %in% names(data)) stop("maxent: expected a column ", target, " in data, found none", call. = FALSE)
  table <- .maxent_people(model, data, target)
  if (is.null(qi)) qi <- .maxent_predictors(model, setdiff(names(table), target))
  if (length(lost <- setdiff(c(target, qi), names(table)))) {
    stop("maxent: expected columns of data, found no ", paste(lost, collapse = ", "), call. = FALSE)
  }
  if (inherits(model, "gbm")) told$classes <- if (is.factor(data[[target]])) levels(data[[target]]) else told$classes
  .maxent_csv(table, folder, "data.csv")
  limits <- limits[!vapply(limits, is.null, NA)]
  words <- c(
    "review", told$path, file.path(folder, "data.csv"), "--target", target, "--qi", .maxent_list(qi),
    "--json", "-o", file.path(folder, "people.csv"),
    if (!is.null(told$from)) c("--from", told$from),
    if (!is.null(told$classes)) c("--classes", .maxent_list(told$classes)),
    if (!is.null(told$features)) c("--features", .maxent_list(told$features)),
    unlist(lapply(names(told$param), function(name) c("--param", paste0(name, "=", told$param[[name]])))),
    unlist(lapply(names(limits), function(name) c(paste0("--", gsub("_", "-", name)), format(limits[[name]], digits = 17)))),
    arguments
  )
  json <- jsonlite::fromJSON(.maxent_run(words), simplifyDataFrame = TRUE)
  people <- utils::read.csv(file.path(folder, "people.csv"), check.names = FALSE, encoding = "UTF-8")
  found <- list(
    status = json$verdict$status, verdict = as.data.frame(json$verdict$checks), people = people,
    unread = as.data.frame(json$unread), json = json
  )
  structure(found, class = "maxent_review")
}

print.maxent_review <- function(x, ...) {
  cat("verdict:", toupper(gsub("_", " ", x$status)), "for an adversary with the", x$json$verdict$adversary, "\n")
  if (nrow(x$verdict) > 0) print(x$verdict[intersect(c("id", "key", "limit", "found", "status"), names(x$verdict))], row.names = FALSE)
  if (nrow(x$unread) > 0) {
    cat("not read:\n")
    print(x$unread, row.names = FALSE)
  }
  invisible(x)
}

# The command's answer; its own words are the error where it refuses.
.maxent_run <- function(words) {
  command <- getOption("maxent.command", unname(Sys.which("maxent")))
  if (!nzchar(command)) {
    stop("maxent: expected the command maxent on the path, found none: install it, or options(maxent.command = ...)", call. = FALSE)
  }
  quoted <- vapply(words, shQuote, "", type = if (.Platform$OS.type == "windows") "cmd2" else "sh", USE.NAMES = FALSE)
  answer <- tempfile("maxent", fileext = ".json")
  on.exit(unlink(answer))
  status <- system2(command, quoted, stdout = answer, stderr = "")
  text <- paste(readLines(answer, encoding = "UTF-8", warn = FALSE), collapse = "\n")
  if (!status %in% c(0, 3, 4)) {
    problems <- tryCatch(jsonlite::fromJSON(text)$error$problems$message, error = function(e) NULL)
    stop("maxent: ", paste(if (length(problems)) problems else paste("status", status), collapse = "\n"), call. = FALSE)
  }
  text
}

# The people that the model was fitted on: rows that it left out for missing values go.
.maxent_people <- function(model, data, target) {
  left_out <- model$na.action
  if (!is.null(left_out) && is.numeric(left_out)) data <- data[-as.integer(left_out), , drop = FALSE]
  data
}

# The columns that a model can ask for; of a model that does not say so all.
.maxent_predictors <- function(model, columns) {
  terms <- tryCatch(attr(stats::terms(model), "term.labels"), error = function(e) NULL)
  named <- if (!is.null(terms)) all.vars(parse(text = paste0("~", paste0(terms, collapse = "+")))[[1]]) else columns
  for (known in list(model$forest$independent.variable.names, model$var.names, rownames(model$importance))) {
    if (is.null(terms) && !is.null(known)) named <- known
  }
  intersect(named, columns)
}

# Levels of factors in their order: those of the table, and those that the model keeps.
.maxent_levels <- function(data, folder, kept = NULL) {
  factors <- if (is.null(data)) list() else lapply(Filter(is.factor, as.data.frame(data)), levels)
  for (name in names(kept)) if (length(kept[[name]])) factors[[name]] <- as.character(kept[[name]])
  if (length(factors) > 0) .maxent_csv(utils::stack(factors), folder, "levels.csv")
}

# A table as CSV: numbers with as many digits as they need, nothing where a value is missing.
.maxent_csv <- function(table, folder, file, row.names = FALSE) {
  names_of_rows <- if (row.names) rownames(table)
  table <- as.data.frame(table, row.names = if (row.names) as.character(seq_len(nrow(table))))
  for (name in names(table)) {
    column <- table[[name]]
    if (is.double(column) && is.null(dim(column)) && !inherits(column, c("Date", "POSIXt"))) {
      table[[name]] <- .maxent_digits(column)
    }
  }
  if (row.names) table <- cbind(node = if (is.null(names_of_rows)) seq_len(nrow(table)) else names_of_rows, table)
  utils::write.csv(table, file.path(folder, file), row.names = FALSE, na = "", fileEncoding = "UTF-8")
}

.maxent_digits <- function(numbers) {
  stated <- which(!is.na(numbers))
  text <- rep(NA_character_, length(numbers))
  text[stated] <- sprintf("%.15g", numbers[stated])
  short <- stated[as.numeric(text[stated]) != numbers[stated]]
  text[short] <- sprintf("%.17g", numbers[short])
  text
}

.maxent_lines <- function(lines, folder, file) {
  out <- file(file.path(folder, file), "w", encoding = "UTF-8")
  on.exit(close(out))
  writeLines(lines, out)
}

# A list as the command takes it; a name with a comma or a quote in it is quoted as in CSV.
.maxent_list <- function(names) {
  odd <- grepl('[,"]', names)
  names[odd] <- paste0('"', gsub('"', '""', names[odd]), '"')
  paste(names, collapse = ",")
}
