# Reference values of the literal PLA-GGM estimator, by R and glmnet.
#
#   Rscript generate_glmnet.R
#
# reads data/settings.csv and data/<name>.csv, writes glmnet_reference.json.
# Needs glmnet and Matrix only.
#
# Objective (Omega symmetric, its diagonal the unpenalised intercepts):
#   (1/2n) sum_j || y'_j - x'_j Omega_.j ||^2 + lambda sum_{j<k} |Omega_jk|

suppressPackageStartupMessages({
  library(Matrix)
  library(glmnet)
})

FRACTIONS <- c(1.05, 0.7, 0.4, 0.2, 0.08, 0.02)  # of lambda_max
THRESH <- 1e-26
MAXIT <- 1e8
glmnet.control(fdev = 0, devmax = 1)

# ---- where this script lives -------------------------------------------------
file_arg <- grep("^--file=", commandArgs(FALSE), value = TRUE)
here <- if (length(file_arg)) dirname(sub("^--file=", "", file_arg[1])) else "."

# ---- kernels and indicators --------------------------------------------------
kernels <- list(
  gaussian = function(u) exp(-u^2 / 2) / sqrt(2 * pi),
  epanechnikov = function(u) ifelse(abs(u) < 1, 0.75 * (1 - u^2), 0),
  triangular = function(u) pmax(1 - abs(u), 0),
  biweight = function(u) ifelse(abs(u) < 1, 15 / 16 * (1 - u^2)^2, 0),
  uniform = function(u) ifelse(abs(u) <= 1, 0.5, 0)
)
indicators <- list(
  soft = function(r) 1 - exp(-5.78^2 * r^2) / 2,
  ramp = function(r) pmin(pmax(r - 1, 0), 1),
  hard = function(r) as.numeric(r >= 1)
)

# ---- the literal transform ---------------------------------------------------
# For each node j: x (n x p, column j is the transformed constant) and y (n).
# S_ij [X_j, y_j] = [x_ij, 0] (D'WD)^{-1} D'W [X_j, y_j]; the weighted least
# squares is solved by QR of W^{1/2} D.
literal_transform <- function(Z, g, s) {
  n <- nrow(Z)
  p <- ncol(Z)
  worst <- 0
  m <- ncol(g)
  if (m > 0) {
    r <- sqrt(rowSums(sweep(g, 2, s$threshold, "/")^2))
    ind <- indicators[[s$indicator]](r)
  }
  nodes <- vector("list", p)
  for (j in seq_len(p)) {
    X <- Z
    X[, j] <- 1
    y <- Z[, j]
    Xt <- X
    yt <- y
    if (m > 0) for (i in seq_len(n)) {
      scale_i <- if (s$form == "supplement") ind[i] else 1
      if (scale_i == 0) next
      u <- sweep(sweep(g, 2, g[i, ], "-"), 2, s$h, "/")
      w <- rep(1, n)
      for (k in seq_len(m)) w <- w * kernels[[s$kernel]](u[, k])
      D <- ind * X
      for (k in seq_len(m)) D <- cbind(D, u[, k] * ind * X)
      root <- sqrt(w)
      A <- root * D
      d <- svd(A, nu = 0, nv = 0)$d
      worst <- max(worst, (max(d) / min(d))^2)
      coef <- qr.coef(qr(A, LAPACK = TRUE), root * cbind(X, y))
      fit <- drop(c(scale_i * X[i, ], rep(0, m * p)) %*% coef)
      Xt[i, ] <- X[i, ] - fit[seq_len(p)]
      yt[i] <- y[i] - fit[p + 1]
    }
    nodes[[j]] <- list(x = unname(Xt), y = unname(yt))
  }
  list(nodes = nodes, condition = worst)
}

# ---- stacked sparse design ---------------------------------------------------
stack <- function(nodes) {
  p <- length(nodes)
  n <- length(nodes[[1]]$y)
  pairs <- t(combn(p, 2))
  npair <- nrow(pairs)
  rows <- function(j) (j - 1) * n + seq_len(n)
  i <- j <- x <- list()
  for (e in seq_len(npair)) {
    a <- pairs[e, 1]
    b <- pairs[e, 2]
    i[[e]] <- c(rows(a), rows(b))
    j[[e]] <- rep(e, 2 * n)
    x[[e]] <- c(nodes[[a]]$x[, b], nodes[[b]]$x[, a])
  }
  for (a in seq_len(p)) {
    i[[npair + a]] <- rows(a)
    j[[npair + a]] <- rep(npair + a, n)
    x[[npair + a]] <- nodes[[a]]$x[, a]
  }
  list(
    X = sparseMatrix(unlist(i), unlist(j), x = unlist(x), dims = c(n * p, npair + p)),
    y = unlist(lapply(nodes, `[[`, "y")), pairs = pairs, n = n, p = p
  )
}

to_matrix <- function(beta, st) {
  npair <- nrow(st$pairs)
  M <- diag(beta[npair + seq_len(st$p)], st$p)
  M[st$pairs] <- beta[seq_len(npair)]
  M[st$pairs[, 2:1]] <- beta[seq_len(npair)]
  M
}

# Largest violation of the optimality conditions of OUR objective.
kkt <- function(beta, gradient, lambda) {
  pen <- lambda > 0
  max(
    abs(gradient[!pen]),
    ifelse(beta[pen] != 0, abs(gradient[pen] + lambda[pen] * sign(beta[pen])),
           pmax(abs(gradient[pen]) - lambda[pen], 0))
  )
}

fit_joint <- function(st) {
  npair <- nrow(st$pairs)
  nvars <- npair + st$p
  free <- npair + seq_len(st$p)
  # intercept columns live on disjoint rows, so each is its own least squares
  b0 <- colSums(st$X[, free] * st$y) / colSums(st$X[, free]^2)
  r0 <- st$y - as.vector(st$X[, free] %*% b0)
  lambda_max <- max(abs(as.vector(crossprod(st$X[, seq_len(npair)], r0)))) / st$n
  lambda <- signif(lambda_max * FRACTIONS, 6)
  # glmnet: 1/(2 n p) RSS + l * pf_k |b_k|, pf rescaled to sum to nvars
  pf <- c(rep(1, npair), rep(0, st$p))
  fit <- glmnet(st$X, st$y,
    family = "gaussian", lambda = lambda / st$p * npair / nvars,
    penalty.factor = pf, intercept = FALSE, standardize = FALSE,
    thresh = THRESH, maxit = MAXIT, type.gaussian = "naive"
  )
  stopifnot(fit$jerr == 0, length(fit$lambda) == length(lambda))
  B <- as.matrix(fit$beta)
  res <- lapply(seq_along(lambda), function(l) {
    beta <- B[, l]
    r <- st$y - as.vector(st$X %*% beta)
    gradient <- -as.vector(crossprod(st$X, r)) / st$n
    list(
      lambda = lambda[l], omega = to_matrix(beta, st),
      objective = sum(r^2) / (2 * st$n) + lambda[l] * sum(abs(beta[seq_len(npair)])),
      n_edges = sum(beta[seq_len(npair)] != 0),
      kkt = kkt(beta, gradient, lambda[l] * pf)
    )
  })
  list(lambda_max = lambda_max, lambda = lambda, path = res, intercept0 = b0)
}

# p separate lassos: (1/2n)||y_j - x_j b||^2 + (lambda/2) ||b without intercept||_1.
# Row j of the result is node j's regression; its entry j is the intercept.
fit_nodewise <- function(nodes, lambda, plain) {
  p <- length(nodes)
  n <- length(nodes[[1]]$y)
  coefs <- array(0, c(length(lambda), p, p))
  resid <- matrix(0, length(lambda), p)
  for (j in seq_len(p)) {
    X <- nodes[[j]]$x
    y <- nodes[[j]]$y
    pf <- rep(1, p)
    pf[j] <- 0
    if (plain) { # glmnet drops constant columns, so use its own intercept
      fit <- glmnet(X[, -j], y,
        family = "gaussian", lambda = lambda / 2, intercept = TRUE, standardize = FALSE,
        thresh = THRESH, maxit = MAXIT, type.gaussian = "naive"
      )
    } else {
      fit <- glmnet(X, y,
        family = "gaussian", lambda = lambda / 2 * (p - 1) / p, penalty.factor = pf,
        intercept = FALSE, standardize = FALSE,
        thresh = THRESH, maxit = MAXIT, type.gaussian = "naive"
      )
    }
    stopifnot(fit$jerr == 0, length(fit$lambda) == length(lambda))
    for (l in seq_along(lambda)) {
      b <- numeric(p)
      if (plain) {
        b[-j] <- fit$beta[, l]
        b[j] <- fit$a0[l]
      } else {
        b <- fit$beta[, l]
      }
      gradient <- -drop(crossprod(X, y - X %*% b)) / n
      coefs[l, j, ] <- b
      resid[l, j] <- kkt(b, gradient, lambda[l] / 2 * pf)
    }
  }
  lapply(seq_along(lambda), function(l) {
    on <- coefs[l, , ] != 0
    up <- upper.tri(on)
    list(
      lambda = lambda[l], coef = coefs[l, , ],
      n_edges_and = sum((on & t(on))[up]), n_edges_or = sum((on | t(on))[up]),
      kkt = max(resid[l, ])
    )
  })
}

# ---- minimal JSON writer -----------------------------------------------------
num <- function(x) sub("^-0$", "0", sprintf("%.15g", x))
js <- function(x, indent = "") {
  if (is.character(x) && length(x) == 1) return(paste0("\"", x, "\""))
  if (inherits(x, "AsIs")) return(paste0("[", paste(num(unclass(x)), collapse = ", "), "]"))
  deeper <- paste0(indent, " ")
  wrap <- function(items, open, close) {
    paste0(open, "\n", paste0(deeper, items, collapse = ",\n"), "\n", indent, close)
  }
  if (is.matrix(x)) {
    return(wrap(apply(x, 1, function(row) js(I(row))), "[", "]"))
  }
  if (is.list(x)) {
    items <- vapply(x, js, "", indent = deeper)
    if (is.null(names(x))) return(wrap(items, "[", "]"))
    return(wrap(paste0("\"", names(x), "\": ", items), "{", "}"))
  }
  if (length(x) == 1) num(x) else js(I(x))
}

# ---- run ---------------------------------------------------------------------
numbers <- function(text) {
  if (text == "none") numeric(0) else as.numeric(strsplit(text, ";")[[1]])
}
settings <- read.csv(file.path(here, "data", "settings.csv"), colClasses = "character")
problems <- list()
for (k in seq_len(nrow(settings))) {
  s <- as.list(settings[k, ])
  s[c("p", "n", "m")] <- lapply(s[c("p", "n", "m")], as.integer)
  s$h <- numbers(s$h)
  s$threshold <- numbers(s$threshold)
  data <- as.matrix(read.csv(file.path(here, "data", paste0(s$name, ".csv"))))
  stopifnot(nrow(data) == s$n, ncol(data) == s$p + s$m)
  Z <- unname(data[, seq_len(s$p)])
  g <- unname(data[, s$p + seq_len(s$m), drop = FALSE])

  tr <- literal_transform(Z, g, s)
  joint <- fit_joint(stack(tr$nodes))
  out <- list(
    settings = list(
      p = s$p, n = s$n, m = s$m, kernel = s$kernel, indicator = s$indicator,
      form = s$form, h = I(s$h), threshold = I(s$threshold)
    ),
    transform = list(
      condition = tr$condition,
      yty = I(sapply(tr$nodes, function(t) sum(t$y^2) / s$n)),
      xty = t(sapply(tr$nodes, function(t) drop(crossprod(t$x, t$y)) / s$n)),
      xtx_diag = t(sapply(tr$nodes, function(t) colSums(t$x^2) / s$n))
    ),
    lambda_max = joint$lambda_max,
    lambda = I(joint$lambda),
    joint = joint$path
  )
  worst <- max(sapply(joint$path, `[[`, "kkt"))
  if (s$m == 0 || k == 1) {
    out$nodewise <- fit_nodewise(tr$nodes, joint$lambda, plain = s$m == 0)
    worst <- max(worst, sapply(out$nodewise, `[[`, "kkt"))
  }
  stopifnot(worst < 1e-10 * max(1, joint$lambda_max))
  problems[[s$name]] <- out
  cat(sprintf("%-34s condition %.1e  lambda_max %.4g  kkt %.1e  edges %s\n",
    s$name, tr$condition, joint$lambda_max, worst,
    paste(sapply(joint$path, `[[`, "n_edges"), collapse = " ")))
}
reference <- list(
  objective = "(1/2n) sum_j ||y'_j - x'_j Omega_j||^2 + lambda sum_{j<k} |Omega_jk|",
  versions = list(
    R = paste(R.version$major, R.version$minor, sep = "."),
    glmnet = as.character(packageVersion("glmnet")),
    Matrix = as.character(packageVersion("Matrix"))
  ),
  problems = problems
)
writeLines(js(reference), file.path(here, "glmnet_reference.json"))
